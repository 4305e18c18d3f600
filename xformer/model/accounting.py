"""How many parameters a model has: by closed formula, and by counting.

Pure arithmetic on the configuration, without torch. The two must agree for every configuration;
a difference is a fault in one of them.

D d_model, F d_ff, H heads, G key_value_heads, K d_k, V d_v, W vocabulary.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xformer.config import schema

if TYPE_CHECKING:
    from torch import nn

# The decoder has a cross-attention, and a norm for it, beside what the encoder has.
SUBLAYERS = {
    "encoder": ("attention", "feedforward"),
    "decoder": ("attention", "cross_attention", "feedforward"),
}
_EMBEDDING_MATRICES = {"three_way": 1, "target": 2, "none": 3}


def parameters(config: schema.Model, vocabulary: int) -> dict[str, int]:
    """Return the parameters by part, from the closed formulas; their sum is the model's size."""
    parts = {"embedding": _EMBEDDING_MATRICES[config.tying] * vocabulary * config.d_model}
    size = {
        "attention": attention_parameters(config),
        "cross_attention": attention_parameters(config),
        "feedforward": feedforward_parameters(config),
    }
    for stack, sublayers in SUBLAYERS.items():
        parts[f"{stack}.position"] = position_parameters(config)
        for sublayer in sublayers:
            parts[f"{stack}.{sublayer}"] = config.layers * size[sublayer]
        parts[f"{stack}.norm"] = norms(config, len(sublayers)) * norm_parameters(config)
    return parts


def attention_parameters(config: schema.Model) -> int:
    """Parameters of one attention sub-layer, of either kind."""
    inputs = config.heads * config.d_k + config.key_value_heads * (config.d_k + config.d_v)
    weights = config.d_model * inputs + config.heads * config.d_v * config.d_model
    return weights + (inputs + config.d_model if config.attention.bias else 0)


def feedforward_parameters(config: schema.Model) -> int:
    """Parameters of one feed-forward sub-layer."""
    weights = 2 * config.d_model * config.d_ff
    return weights + (config.d_ff + config.d_model if config.feedforward.bias else 0)


def norm_parameters(config: schema.Model) -> int:
    """Parameters of one norm."""
    match config.norm:
        case schema.LayerNorm(bias=bias):
            return config.d_model * (2 if bias else 1)
        case schema.RMSNorm():
            return config.d_model


def norms(config: schema.Model, sublayers: int) -> int:
    """Norms in one stack whose layers have so many sub-layers."""
    match config.placement:
        case schema.PostPlacement():
            return sublayers * config.layers
        case schema.PrePlacement():
            return sublayers * config.layers + 1


def position_parameters(config: schema.Model) -> int:
    """Parameters of one stack's position scheme."""
    match config.position:
        case schema.SinusoidalPosition():
            return 0
        case schema.LearnedPosition(max_length=max_length):
            return max_length * config.d_model


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
