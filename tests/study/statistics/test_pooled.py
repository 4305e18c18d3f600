"""The pooled variance, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from xformer.study.statistics.pooled import Inconclusive, Pooled, Spread, pool


def rows(*scores: list[float]) -> dict[str, np.ndarray]:
    return {str(number): np.array(each, dtype=float) for number, each in enumerate(scores)}


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


EVEN = {name: np.random.default_rng(1).normal(60, 0.3, 3) + number for number, name in enumerate("abcdefgh")}


def test_rows_of_equal_spread_share_one_variance() -> None:
    pooled = pool(EVEN)
    assert isinstance(pooled, Pooled)
    assert pooled.apart == {}
    assert (pooled.rows, pooled.degrees_of_freedom) == (8, 16)


@pytest.mark.parametrize("wild", [{"w": [3.0, 21.0, 44.0]}, {"w": [3.0, 21.0, 44.0], "v": [9.0, 19.0, 30.0]}])
def test_rows_that_vary_far_more_stand_apart_with_their_own_variance(wild: dict[str, list[float]]) -> None:
    own = {name: np.array(scores) for name, scores in wild.items()}
    pooled, without = pool(EVEN | own), pool(EVEN)
    assert isinstance(pooled, Pooled)
    assert isinstance(without, Pooled)
    assert set(pooled.apart) == set(wild)
    assert pooled.of("a") == pooled
    assert (pooled.variance, pooled.rows) == (pytest.approx(without.variance), 8)
    assert pooled.of("w") == Spread(pytest.approx(float(own["w"].var(ddof=1))), 2)
    ratio = own["w"].var(ddof=1) / without.variance
    assert stats.f.sf(ratio, 2, 16) < 0.01


def test_of_two_rows_neither_is_the_odd_one() -> None:
    pooled = pool(rows([60.0, 60.1, 60.2], [3.0, 21.0, 44.0]))
    assert isinstance(pooled, Pooled)
    assert pooled.apart == {}


def test_rows_that_never_vary_do_not_make_the_others_look_steady() -> None:
    dead = {f"dead{number}": np.zeros(3) for number in range(4)}
    assert pool(EVEN | dead) == pool(EVEN)
