"""The pooled variance, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from xformer.study.statistics.pooled import Inconclusive, Pooled, pool, uneven


def rows(*scores: list[float]) -> list[np.ndarray]:
    return [np.array(each) for each in scores]


def test_the_variance_is_pooled_over_repeated_rows_only() -> None:
    pooled = pool(rows([1, 2, 3], [10, 14], [7]))
    assert pooled == Pooled(variance=(2 + 8) / 3, degrees_of_freedom=3, rows=2)
    assert pooled.deviation == pytest.approx((10 / 3) ** 0.5)


def test_without_a_repeated_row_nothing_is_known_about_seeds() -> None:
    found = pool(rows([1], [2], []))
    assert isinstance(found, Inconclusive)
    assert "no row has two seeds" in found.reason


@pytest.mark.parametrize("score", [0.0, 3.0, 61.62859175908966])
def test_seeds_that_change_nothing_say_nothing_about_seeds(score: float) -> None:
    found = pool(rows([score, score, score], [1]))
    assert isinstance(found, Inconclusive)
    assert "same with all its seeds" in found.reason


def test_rows_of_equal_spread_are_even_and_one_that_stands_out_is_named() -> None:
    random = np.random.default_rng(1)
    even = {name: random.normal(60, 0.3, 3) for name in "abcdefgh"}
    assert uneven(even) is None
    wild = even | {"wild": np.array([3.0, 21.0, 44.0])}
    assert uneven(wild) == "wild"
    assert stats.bartlett(*wild.values()).pvalue < 0.01


def test_evenness_needs_two_rows_that_vary() -> None:
    assert uneven({"a": np.array([1.0, 2.0]), "b": np.array([5.0]), "c": np.array([2.0, 2.0])}) is None
