"""Parameters of a model by counting its tensors; `xformer.config.sizes.accounting` has the formulas."""

from __future__ import annotations

from collections import Counter

from torch import nn


def counted_parameters(model: nn.Module) -> dict[str, int]:
    """Return the parameters by part, from the tensors that a model has; shared ones count once."""
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():  # names each tensor once
        counts[_part(name)] += parameter.numel()
    return dict(counts)


def _part(name: str) -> str:
    """`decoder.layers.3.attention.input.weight` belongs to `decoder.attention`."""
    path = name.split(".")
    if path[0] == "embedding":
        return "embedding"
    component = path[3] if path[1] == "layers" else path[1]
    return f"{path[0]}.{'norm' if component == 'residual' else component}"
