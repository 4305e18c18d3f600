"""Spearman's correlation against scipy's, and how often its interval holds the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from xformer.study.statistics.agreement import Agreement, spearman
from xformer.study.statistics.pooled import Inconclusive


def agreement(one: list[float], other: list[float]) -> Agreement:
    found = spearman(one, other)
    assert isinstance(found, Agreement)
    return found


@pytest.mark.parametrize("ties", [1, 3, 100])
def test_the_correlation_is_scipys_with_and_without_ties(ties: int) -> None:
    random = np.random.default_rng(ties)
    one = random.integers(1000 // ties, size=20).astype(float).tolist()
    other = (np.array(one) + random.integers(800 // ties, size=20)).tolist()
    found = agreement(one, other)
    assert found.rho == pytest.approx(stats.spearmanr(one, other).statistic)
    assert -1 <= found.low < found.rho < found.high <= 1
    assert found.rows == 20


def test_the_same_ranking_is_one_and_the_reverse_minus_one() -> None:
    rows = [5.0, 1.0, 4.0, 2.0, 3.0, 9.0]
    same, reverse = agreement(rows, [each**3 for each in rows]), agreement(rows, [-each for each in rows])
    assert (same.rho, same.high) == (pytest.approx(1), 1)
    assert 0 < same.low < 1
    assert (reverse.rho, reverse.low, reverse.high) == (pytest.approx(-1), -1, pytest.approx(-same.low))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_interval_holds_the_truth_in_about_19_of_20_studies_of_20_rows(correlation: float) -> None:
    random = np.random.default_rng(4)
    truth = 6 / np.pi * np.arcsin(correlation / 2)  # Spearman's of two normal variables
    held, trials = 0, 600
    for _ in range(trials):
        one = random.normal(size=20)
        other = correlation * one + np.sqrt(1 - correlation**2) * random.normal(size=20)
        found = agreement(one.tolist(), other.tolist())
        held += found.low <= truth <= found.high
    assert 0.92 < held / trials < 0.98


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [([1, 2, 3], [1, 2, 3], "too few"), ([1, 1, 1, 1], [1, 2, 3, 4], "no ranking")],
)
def test_where_there_is_no_ranking_the_reason_is_said(one, other, reason: str) -> None:
    found = spearman(one, other)
    assert isinstance(found, Inconclusive)
    assert reason in found.reason


def test_lists_of_unequal_length_are_a_fault() -> None:
    with pytest.raises(ValueError, match="4 scores against 5"):
        spearman([1, 2, 3, 4], [1, 2, 3, 4, 5])
