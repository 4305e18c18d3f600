"""Two experiments side by side."""

from __future__ import annotations

import pytest

from tests.model.configs import BASE, BIG
from xformer.config.differences import Difference
from xformer.config.sizes.accounting import parameters
from xformer.errors import UserError
from xformer.inspection.compare import compare


def test_every_key_in_which_they_differ_has_both_values() -> None:
    comparison = compare("table3/base", "table3/A_h1", ["scale=paper"])
    assert comparison.differences == [
        Difference("model.heads", 8, 1),
        Difference("model.key_value_heads", 8, 1),
        Difference("model.d_k", 64, 512),
        Difference("model.d_v", 64, 512),
    ]


def test_the_ratio_is_the_right_ones_cost_over_the_left_ones() -> None:
    plain = compare("table3/base", "table3/big", ["scale=paper"]).plain()
    left, right = (sum(parameters(model, 37_000).values()) for model in (BASE, BIG))
    assert plain["parameters_closed_form"] == {"left": left, "right": right, "ratio": right / left}
    assert (left, plain["scale"]) == (63_082_496, "paper")
    assert plain["flops_per_training_token"]["ratio"] > 1


def test_an_experiment_is_no_different_from_itself() -> None:
    comparison = compare("table3/big", "table3/big", [])
    assert comparison.differences == []
    assert {left == right for left, right in comparison.quantities.values()} == {True}


def test_both_are_composed_with_the_other_overrides() -> None:
    comparison = compare("table3/base", "table3/D_drop00", ["model.layers=1", "model.dropout=0.4"])
    assert comparison.differences == []
    assert "decode.beam" not in {
        each.key for each in compare("table3/base", "table3/big", ["decode.beam=2"]).differences
    }


@pytest.mark.parametrize(
    ("right", "overrides", "message"),
    [
        ("table3/A_h3", [], "experiments=table3/A_h3: no such choice; did you mean table3/A_h32?"),
        ("table3/big", ["experiments=table3/big"], "--diff names the experiments itself"),
        ("table3/big", ["model.hedas=3"], "model.hedas: no such key; did you mean model.heads?"),
        ("table3/big", ["seed=1,2"], "several values"),
    ],
)
def test_what_cannot_be_composed_is_refused(right: str, overrides: list[str], message: str) -> None:
    with pytest.raises(UserError) as refusal:
        compare("table3/base", right, overrides)
    assert message in str(refusal.value)
