"""The closed formulas agree with counting, and with the figures known for the paper's sizes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tests.model.configs import BASE, BIG, GELU, LAYERNORM, LEARNED, POST, PRE, RMSNORM, SINUSOIDAL, SMALL
from xformer.config import schema
from xformer.config.sizes.accounting import (
    attention_parameters,
    feedforward_parameters,
    norm_parameters,
    parameters,
)
from xformer.model.architectures import skeleton
from xformer.model.counting import counted_parameters

NO_SHIFT = schema.LayerNorm(kind="layernorm", epsilon=1e-6, bias=False)
NO_BIAS = schema.Attention(bias=False, dropout=0.0, kernel="auto")
PLAIN_FEEDFORWARD = schema.FeedForward(kind="relu", bias=False, dropout=0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"tying": tying, "placement": placement, "position": position, "norm": norm, **rest}
        for tying, placement, position, norm, rest in product(
            ["three_way", "target", "none"],
            [POST, PRE],
            [SINUSOIDAL, LEARNED],
            [LAYERNORM, NO_SHIFT, RMSNORM],
            [
                {},
                {"attention": NO_BIAS, "feedforward": GELU},
                {"feedforward": PLAIN_FEEDFORWARD},
                {"heads": 6, "key_value_heads": 2, "d_k": 5, "d_v": 7, "layers": 3},
            ],
        )
    ],
    ids=lambda _: "",
)
def test_the_closed_formula_agrees_with_counting_part_by_part(changes):
    config = replace(SMALL, **changes)
    model = skeleton(config, 50)
    closed = {part: number for part, number in parameters(config, 50).items() if number}
    assert closed == counted_parameters(model)
    assert sum(closed.values()) == sum(parameter.numel() for parameter in model.parameters())


def test_base_at_the_papers_vocabulary_has_the_known_counts():
    assert attention_parameters(BASE) == 1_050_624
    assert feedforward_parameters(BASE) == 2_099_712
    assert norm_parameters(BASE) == 1_024
    parts = parameters(BASE, 37_000)
    encoder = sum(number for part, number in parts.items() if part.startswith("encoder"))
    decoder = sum(number for part, number in parts.items() if part.startswith("decoder"))
    assert encoder == 6 * 3_152_384
    assert decoder == 6 * 4_204_032
    assert sum(parts.values()) == 63_082_496
    assert sum(counted_parameters(skeleton(BASE, 37_000)).values()) == 63_082_496


def test_big_at_the_papers_vocabulary_has_the_known_count():
    total = sum(parameters(BIG, 37_000).values())
    assert total == pytest.approx(214.2e6, abs=0.05e6)
    assert sum(counted_parameters(skeleton(BIG, 37_000)).values()) == total


@pytest.mark.parametrize(("tying", "matrices"), [("three_way", 1), ("target", 2), ("none", 3)])
def test_tied_matrices_are_counted_once(tying, matrices):
    config = replace(SMALL, tying=tying)
    assert parameters(config, 50)["embedding"] == matrices * 50 * 16
