"""The learning rate by formula."""

from __future__ import annotations

import pytest

from xformer.training.schedule import learning_rate


@pytest.mark.parametrize("update", range(1, 13))
def test_the_first_twelve_rates_equal_the_formula_of_the_paper(update: int) -> None:
    expected = 16**-0.5 * min(update**-0.5, update * 4**-1.5)
    assert learning_rate(update, d_model=16, warmup_updates=4) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("d_model", "update", "rate"),
    [
        (512, 4000, 6.99e-4),
        (1024, 4000, 4.94e-4),
        (512, 1000, 1.75e-4),
        (512, 10_000, 4.42e-4),
        (512, 100_000, 1.40e-4),
    ],
)
def test_rates_of_base_and_big_are_those_that_follow_from_the_paper(
    d_model: int, update: int, rate: float
) -> None:
    assert learning_rate(update, d_model=d_model, warmup_updates=4000) == pytest.approx(rate, rel=5e-3)


def test_the_rate_is_highest_at_the_end_of_the_warm_up() -> None:
    rates = [learning_rate(update, d_model=16, warmup_updates=7) for update in range(1, 30)]
    assert rates.index(max(rates)) == 6


def test_the_multiplier_multiplies() -> None:
    plain, doubled = (
        learning_rate(3, d_model=16, warmup_updates=4, multiplier=factor) for factor in (1.0, 2.0)
    )
    assert doubled == 2 * plain


def test_without_warm_up_the_rate_starts_at_its_peak_and_then_falls_as_with_it() -> None:
    with_it, without = (
        [learning_rate(update, d_model=16, warmup_updates=7, warmup=warmup) for update in range(1, 30)]
        for warmup in ("linear", "none")
    )
    assert without[:7] == pytest.approx([max(with_it)] * 7)
    assert without[6:] == pytest.approx(with_it[6:])
