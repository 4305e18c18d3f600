"""Power against scipy's noncentral t, and the numbers of seeds that follow."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from xformer.study.statistics.intervals import Uncertainty
from xformer.study.statistics.power import Design, power, power_equivalence, seeds_needed, smallest_effect


@pytest.mark.parametrize("degrees", [1, 2, 4, 12, 40])
@pytest.mark.parametrize("effect", [0.0, 0.2, 0.7, 1.5, 5.0])
def test_power_is_that_of_the_noncentral_t_distribution(degrees: int, effect: float) -> None:
    expected = stats.nct.sf(stats.t.ppf(0.975, degrees), degrees, effect / 0.3)
    assert power(effect, Uncertainty(0.3, degrees)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("sentences", [None, 0.1, 0.6])
def test_power_is_the_share_of_simulated_estimates_beyond_their_interval(sentences: float | None) -> None:
    uncertainty, random = Uncertainty(0.3, 6, sentences), np.random.default_rng(1)
    estimates = random.normal(1.0, np.hypot(0.3, sentences or 0), 200_000)
    errors = 0.3 * np.sqrt(random.chisquare(6, 200_000) / 6)
    halves = np.hypot(errors * stats.t.ppf(0.975, 6), (sentences or 0) * stats.norm.ppf(0.975))
    assert power(1.0, uncertainty) == pytest.approx(float((estimates > halves).mean()), abs=0.004)
    halves = np.hypot(errors * stats.t.ppf(0.95, 6), (sentences or 0) * stats.norm.ppf(0.95))
    inside = float((np.abs(estimates - 0.8) + halves < 1.2).mean())
    assert power_equivalence(0.2, 1.2, uncertainty) == pytest.approx(inside, abs=0.004)


def test_equivalence_is_never_found_where_the_margin_is_within_the_sentences_part() -> None:
    assert power_equivalence(0.0, 0.1, Uncertainty(0.001, 10, 1.0)) == 0


@pytest.mark.parametrize("sentences", [None, 0.4])
def test_the_smallest_effect_is_seen_in_four_of_five_studies(sentences: float | None) -> None:
    uncertainty = Uncertainty(0.3, 4, sentences)
    assert power(smallest_effect(uncertainty), uncertainty) == pytest.approx(0.8)
    assert smallest_effect(uncertainty, wanted=0.9) > smallest_effect(uncertainty)
    assert smallest_effect(uncertainty, alpha=0.001) > smallest_effect(uncertainty)


def test_the_smallest_effect_of_large_studies_is_the_textbooks() -> None:
    assert smallest_effect(Uncertainty(1.0, 100_000)) == pytest.approx(1.960 + 0.842, abs=2e-3)


def test_two_rows_need_the_seeds_that_trying_every_number_finds() -> None:
    for effect in (0.3, 0.5, 1.0, 3.0):
        tried = (
            seeds
            for seeds in range(2, 1000)
            if stats.nct.sf(
                stats.t.ppf(0.975, 2 * seeds - 2), 2 * seeds - 2, effect / (0.4 * sqrt(2 / seeds))
            )
            >= 0.8
        )
        found = seeds_needed(Design(0.4, rows=2), lambda uncertainty, e=effect: power(e, uncertainty))
        assert found == next(tried)


def test_more_rows_save_seeds() -> None:
    def needed(rows: int) -> int | None:
        return seeds_needed(Design(0.4, rows), lambda uncertainty: power(0.8, uncertainty))

    two, twenty = needed(2), needed(20)
    assert two is not None
    assert twenty is not None
    assert twenty < two


def test_no_number_of_seeds_makes_up_for_too_few_sentences() -> None:
    design = Design(0.4, rows=20, sentences=0.5)
    assert seeds_needed(design, lambda uncertainty: power(0.8, uncertainty)) is None
    assert seeds_needed(design, lambda uncertainty: power(3.0, uncertainty)) is not None
    assert seeds_needed(design, lambda uncertainty: power_equivalence(0.0, 0.5, uncertainty)) is None
