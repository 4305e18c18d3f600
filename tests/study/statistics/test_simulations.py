"""The statistics keep their promises in studies whose truth is known (10,000 each, fixed seeds)."""

from __future__ import annotations

import pytest

from tests.study.statistics import simulations


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("rows", "seeds"), [(2, 3), (6, 3), (20, 3), (2, 5), (6, 5), (20, 5)])
def test_false_alarms_are_five_per_cent_of_comparisons(rows: int, seeds: int, seed: int) -> None:
    assert 0.04 < simulations.false_alarms(rows, seeds, seed=seed) < 0.06


@pytest.mark.parametrize("single", [1, 4])
def test_rows_with_one_seed_give_no_more_false_alarms(single: int) -> None:
    assert 0.04 < simulations.false_alarms(6, 3, single=single) < 0.06


@pytest.mark.parametrize(("wild", "most"), [(2.0, 0.16), (6.7, 0.11), (17.0, 0.07)])
def test_a_row_that_varies_far_more_is_judged_by_its_own_spread_and_the_others_without_it(
    wild: float, most: float
) -> None:
    own, others = simulations.false_alarms_beside(20, 3, wild)
    assert own < most  # one common variance would give 18, 49 and 56 %
    assert 0.04 < others < 0.06  # and 3.5, 0.9 and 0.1 %


@pytest.mark.parametrize(("rows", "seeds"), [(6, 3), (20, 5)])
def test_holm_keeps_false_alarms_of_a_whole_study_below_five_per_cent(rows: int, seeds: int) -> None:
    plain, adjusted = simulations.family_false_alarms(rows, seeds)
    assert plain > 0.15
    assert adjusted < 0.056  # three standard errors above 5 %


@pytest.mark.parametrize(
    ("rows", "seeds", "effect"), [(2, 3, 3.0), (6, 3, 2.0), (20, 3, 2.34), (6, 5, 2.0), (20, 5, 1.0)]
)
def test_a_planted_effect_is_seen_as_often_as_predicted(rows: int, seeds: int, effect: float) -> None:
    found, predicted = simulations.seen(rows, seeds, effect * simulations.DEVIATION)
    assert found == pytest.approx(predicted, abs=0.015)  # three standard errors


@pytest.mark.parametrize("rows", [2, 20])
def test_a_difference_as_large_as_the_margin_is_called_equivalent_in_five_per_cent(rows: int) -> None:
    assert 0.035 < simulations.false_equivalences(rows, 3, margin=1.5) < 0.065


def test_a_bootstrap_over_three_seeds_would_give_four_times_the_false_alarms() -> None:
    assert simulations.bootstrap_over_seeds(3) > 0.15


@pytest.mark.parametrize(
    ("sentences", "interaction"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.3), (0.1, 0.5), (1.0, 0.3)]
)
def test_the_interval_of_both_parts_holds_the_truth_at_least_as_often_as_it_says(
    sentences: float, interaction: float
) -> None:
    assert simulations.coverage(6, 3, sentences, interaction)[2] > 0.944


def test_either_part_alone_would_not() -> None:
    seeds, sentences, _ = simulations.coverage(6, 3, sentences=0.3, interaction=0.3)
    assert seeds < 0.9
    assert sentences < 0.93
