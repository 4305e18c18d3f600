"""The learning rate by formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from xformer.config.compose import compose
from xformer.training import schedule

PAPER = compose(["scale=paper"]).optim


def learning_rate(update: int, d_model: int, updates: int = 1_000_000, **optim: Any) -> float:
    return schedule.learning_rate(update, replace(PAPER, **optim), d_model=d_model, updates=updates)


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
        learning_rate(3, d_model=16, warmup_updates=4, learning_rate_multiplier=factor)
        for factor in (1.0, 2.0)
    )
    assert doubled == 2 * plain


def test_without_warm_up_the_rate_starts_at_its_peak_and_then_falls_as_with_it() -> None:
    with_it, without = (
        [learning_rate(update, d_model=16, warmup_updates=7, warmup=warmup) for update in range(1, 30)]
        for warmup in ("linear", "none")
    )
    assert without[:7] == pytest.approx([max(with_it)] * 7)
    assert without[6:] == pytest.approx(with_it[6:])


def test_a_cool_down_takes_the_last_rates_in_a_straight_line_to_nearly_zero() -> None:
    plain = [learning_rate(update, d_model=16, warmup_updates=7) for update in range(1, 31)]
    cooled = [
        learning_rate(update, d_model=16, warmup_updates=7, updates=30, cooldown_updates=9)
        for update in range(1, 31)
    ]
    assert cooled[:21] == plain[:21]
    shares = [a / b for a, b in zip(cooled[21:], plain[21:], strict=True)]
    assert shares == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
