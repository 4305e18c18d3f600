"""Sizes, parameters and cost of a configuration, as text and as one JSON object."""

from __future__ import annotations

import json
from typing import Any

from xformer.config import schema
from xformer.model import accounting
from xformer.model.accounting import parameters
from xformer.model.flops import flops


def inspect(config: schema.Config, *, as_json: bool) -> str:
    """Describe a configuration; its vocabulary is taken to reach the size that is asked for."""
    facts, parts = _facts(config), parameters(config.model, config.tokenizer.vocabulary)
    return json.dumps(facts | {"parameters_by_part": parts}, indent=2) if as_json else _text(facts, parts)


def counted_parameters(config: schema.Model, vocabulary: int) -> int:
    """Parameters of the model itself, shared ones once, counted on a model without storage."""
    from xformer.model.architectures import skeleton

    return sum(accounting.counted_parameters(skeleton(config, vocabulary)).values())


def _facts(config: schema.Config) -> dict[str, Any]:
    model, vocabulary = config.model, config.tokenizer.vocabulary
    cost = flops(model, vocabulary)
    return {
        "experiment": config.experiment,
        "scale": config.scale.name,
        "layers": model.layers,
        "d_model": model.d_model,
        "d_ff": model.d_ff,
        "heads": model.heads,
        "key_value_heads": model.key_value_heads,
        "d_k": model.d_k,
        "d_v": model.d_v,
        "dropout": model.dropout,
        "label_smoothing": config.optim.label_smoothing,
        "position": model.position.kind,
        "placement": model.placement.kind,
        "norm": model.norm.kind,
        "feedforward": model.feedforward.kind,
        "updates": config.trainer.updates,
        "vocabulary": vocabulary,
        "parameters": counted_parameters(model, vocabulary),
        "parameters_closed_form": sum(parameters(model, vocabulary).values()),
        "flops_per_source_token": cost.source_token,
        "flops_per_target_token": cost.target_token,
    }


def _text(facts: dict[str, Any], parts: dict[str, int]) -> str:
    lines = [f"{name:24} {_number(value)}" for name, value in facts.items()]
    lines += ["", "parameters by part"]
    lines += [f"  {name:32} {value:>14,}" for name, value in parts.items() if value]
    return "\n".join(lines)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
