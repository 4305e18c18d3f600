"""Settings that contradict one another are refused, with the key, the value and what is allowed."""

from __future__ import annotations

import re

import pytest

from xformer.config.compose import compose
from xformer.errors import UserError


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model.key_value_heads=3"], "model.key_value_heads: 3 does not divide model.heads = 8"),
        (["model/position=rope", "model.d_k=5"], "model.position.fraction: 1 of model.d_k = 5 is 5 features"),
        (
            ["model/position=rope", "model.position.fraction=0.2"],
            "model.position.fraction: 0.2 of model.d_k = 8 is 1.6 features",
        ),
        (["model/position=rope", "model.position.fraction=0"], "model.position.fraction: "),
        (["model/feedforward=swiglu"], "model.match: none with model/feedforward=swiglu"),
        (
            ["model/position=t5", "model.position.buckets=30"],
            "model.position.buckets: 30 is no multiple of 4",
        ),
        (
            ["model/position=t5", "model.position.max_distance=16"],
            "model.position.max_distance: 16 is not more than the 16 distances",
        ),
        (
            ["decode.average=3", "trainer.updates=10", "trainer.checkpoint_every=5"],
            "decode.average: 3 is more than the 2 checkpoints of trainer.updates = 10",
        ),
        (
            ["decode.min_length=20", "decode.max_length=5"],
            "decode.min_length: 20 is more than decode.max_length = 5",
        ),
        (
            ["model/position=learned", "decode.min_length=9000"],
            "decode.min_length: 9000 leaves no room for the end",
        ),
        (["trainer.threads=1000000000000000"], "trainer.threads: must be less than or equal to 1024"),
        (["model.d_ff=null"], "model.d_ff: must be a whole number, not null"),
        (["model.match=size"], "model.match: must be 'none', 'params' or 'flops', not 'size'"),
        (
            ["model/position=alibi", "model.position.layout=halves"],
            "model.position.layout: has no effect here",
        ),
    ],
)
def test_a_contradiction_is_named_with_its_key_and_value(overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        compose(overrides)


def test_a_gated_feedforward_is_accepted_with_either_policy_and_its_width_is_solved() -> None:
    for policy in ("params", "flops"):
        config = compose(["model/feedforward=geglu", f"model.match={policy}"])
        assert config.model.d_ff == pytest.approx(256 * 2 / 3, abs=1)
