"""A size is read as the letters that make it up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.configs import LEARNED, SMALL, VARIANTS
from xformer.inspection import notation
from xformer.inspection.notation import distinct, read, sizes_of, text

GROUPED = replace(SMALL, heads=8, key_value_heads=2)


def letters(config=SMALL):
    model, vocabulary = distinct(config)
    return {**notation.SIZES, **sizes_of(model, vocabulary)}


@pytest.mark.parametrize(
    ("config", "expression"),
    [
        (SMALL, "B"), (SMALL, "D"), (SMALL, "W"), (SMALL, "H·K"), (SMALL, "H·V"), (SMALL, "2·F"),
        (SMALL, "K/2"), (SMALL, "S+T"), (SMALL, "S+T-1"), (SMALL, "T+1"), (SMALL, "B·S"), (SMALL, "B·(S+T)"),
        (SMALL, "2·H·K+H·V"), (SMALL, "H·K+H·V"),
        (GROUPED, "G·K"), (GROUPED, "H/G·T"), (GROUPED, "H/G·S"), (GROUPED, "H·K+G·K+G·V"),
    ],
)  # fmt: skip
def test_an_expression_is_read_back_from_what_it_comes_to(config, expression):
    sizes = letters(config) | {"H/G": 3}
    python = expression.replace("H/G", "R").replace("·", "*").replace("/", "//")
    size = eval(python, {}, sizes | {"R": sizes["H/G"]})
    assert text(read(size, letters(config))) == expression
    assert notation.value(read(size, letters(config)), letters(config)) == size


def test_a_size_that_no_letters_make_up_stays_a_number():
    assert text(read(100_003, letters())) == "100003"
    assert text(read(1, letters())) == "1"


def test_keys_and_values_have_a_letter_of_their_own_only_where_heads_share_them():
    assert "G" not in letters(SMALL)
    assert letters(GROUPED)["H"] > letters(GROUPED)["G"] > 1


@pytest.mark.parametrize("name", VARIANTS)
def test_the_letters_of_the_second_model_have_different_values(name):
    values = list(letters(VARIANTS[name]).values())
    assert len(set(values)) == len(values)


def test_learned_positions_reach_as_far_as_the_second_models_sentences():
    model, _ = distinct(replace(SMALL, position=replace(LEARNED, max_length=3)))
    assert model.position.max_length >= max(notation.SIZES.values())


def test_the_strategies_are_those_of_the_first_model():
    model, _ = distinct(VARIANTS["rmsnorm"])
    assert (model.norm, model.placement, model.layers) == (
        VARIANTS["rmsnorm"].norm, VARIANTS["rmsnorm"].placement, SMALL.layers
    )  # fmt: skip
