"""Comparisons at equal size: d_ff solved so that a variant costs what the base would cost at the same sizes.

Pure arithmetic on the configuration, without torch. Gated feed-forwards go to about two thirds of
their width (Shazeer 2020), shared keys and values make it wider, and a single stack pays for the
cross-attention that it lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xformer.config import schema
from xformer.config.sizes.accounting import parameters
from xformer.config.sizes.flops import flops
from xformer.errors import UserError

TOLERANCE = 0.01
"""Largest difference that may be left, as a share of what is matched."""


def counterpart(model: schema.Model) -> schema.Model:
    """Return the model with the same sizes and the base's strategies."""
    return replace(
        model,
        architecture="encoder_decoder",
        key_value_heads=model.heads,
        placement=schema.PostPlacement(kind="post"),
        position=schema.SinusoidalPosition(kind="sinusoidal", layout="interleaved"),
        norm=schema.LayerNorm(kind="layernorm", epsilon=1e-6, bias=True),
        feedforward=schema.FeedForward(kind="relu", bias=True, dropout=0.0),
        attention=schema.Attention(bias=True, dropout=0.0, kernel="auto"),
        match="none",
    )


def matched(model: schema.Model, vocabulary: int) -> schema.Model:
    """Return the model with its d_ff solved as `model.match` says.

    Raises UserError where no width comes within 1 %.
    """
    if model.match == "none":
        return model
    measure = _MEASURES[model.match]
    goal = measure(counterpart(model), vocabulary)
    # Every size is a straight line in d_ff.
    at_one, at_two = (measure(replace(model, d_ff=width), vocabulary) for width in (1, 2))
    solved = replace(model, d_ff=max(1, 1 + round((goal - at_one) / (at_two - at_one))))
    left = measure(solved, vocabulary) / goal - 1
    if abs(left) > TOLERANCE:
        raise UserError(
            f"model.match: {model.match} cannot be met; the nearest model.d_ff, {solved.d_ff:,}, is "
            f"{left:+.1%} away from the base at the same sizes. Take model.match=none, or other sizes"
        )
    return solved


def _parameters(model: schema.Model, vocabulary: int) -> int:
    return sum(parameters(model, vocabulary).values())


def _flops(model: schema.Model, vocabulary: int) -> int:
    cost = flops(model, vocabulary)
    return cost.source_token + cost.target_token


_MEASURES: dict[str, Callable[[schema.Model, int], int]] = {"params": _parameters, "flops": _flops}
