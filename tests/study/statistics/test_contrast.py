"""Contrasts of rows, and of one row scored in two ways."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from xformer.study.statistics.contrast import Contrast, Sample, contrast, matched
from xformer.study.statistics.pooled import Inconclusive, Pooled, Spread

POOLED = Pooled(variance=0.09, degrees_of_freedom=12, rows=6)


def test_any_contrast_has_the_error_of_its_weights_and_seeds() -> None:
    rows = {"a": Sample(np.array([1.0, 2.0, 3.0])), "b": Sample(np.array([5.0])), "c": Sample(np.ones(2))}
    found = contrast({"a": 1, "b": -2, "c": 1}, rows, POOLED)
    assert found.value == 2 - 10 + 1
    assert found.uncertainty.seeds == pytest.approx((0.09 * (1 / 3 + 4 / 1 + 1 / 2)) ** 0.5)
    assert found.uncertainty.degrees_of_freedom == 12
    assert found.uncertainty.sentences is None


def test_a_row_with_one_seed_has_the_pooled_variance_and_a_wider_interval() -> None:
    rows = {name: Sample(np.full(seeds, 60.0)) for name, seeds in (("base", 3), ("many", 3), ("one", 1))}
    many = contrast({"many": 1, "base": -1}, rows, POOLED).uncertainty.half()
    one = contrast({"one": 1, "base": -1}, rows, POOLED).uncertainty.half()
    assert one / many == pytest.approx(((1 + 1 / 3) / (2 / 3)) ** 0.5)


def test_what_all_rows_share_in_a_resample_cancels() -> None:
    random = np.random.default_rng(1)
    shared, own = random.normal(0, 5, 4000), random.normal(0, 0.2, 4000)
    rows = {"a": Sample(np.ones(3), shared + own), "b": Sample(np.ones(3), shared)}
    found = contrast({"a": 1, "b": -1}, rows, POOLED)
    assert found.uncertainty.sentences == pytest.approx(own.std(ddof=1))


def test_sentences_are_unknown_where_one_row_lacks_them() -> None:
    rows = {"a": Sample(np.ones(3), np.ones(9)), "b": Sample(np.ones(3))}
    assert contrast({"a": 1, "b": -1}, rows, POOLED).uncertainty.sentences is None


def test_a_row_that_stands_apart_has_its_own_variance_and_welchs_degrees_of_freedom() -> None:
    one, other = np.array([60.0, 60.4, 60.1]), np.array([50.0, 61.0, 70.0])
    own = Spread(float(other.var(ddof=1)), 2)
    as_one = Pooled(float(one.var(ddof=1)), 2, rows=1, apart={"b": own})
    found = contrast({"a": 1, "b": -1}, {"a": Sample(one), "b": Sample(other)}, as_one)
    expected = stats.ttest_ind(one, other, equal_var=False)
    assert found.uncertainty.p_two_sided(found.value) == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))


PAIR = {"new": 1.0, "old": -1.0}


def test_one_set_of_runs_scored_twice_gives_the_paired_t_test() -> None:
    plain = np.array([60.1, 63.9, 58.0, 61.2])
    averaged = plain + np.array([0.5, 0.3, 0.9, 0.6])
    found = matched(PAIR, {"new": Sample(averaged), "old": Sample(plain)})
    assert isinstance(found, Contrast)
    expected = stats.ttest_rel(averaged, plain)
    assert found.uncertainty.p_two_sided(found.value) == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_what_rounding_leaves_of_equal_scorings_is_no_difference() -> None:
    scores = np.array([60.41163054, 61.04251337, 59.87146534])
    weights = {"1": -0.3, "2": 0.1, "8": 0.2}
    assert isinstance(matched(weights, {way: Sample(scores) for way in weights}), Inconclusive)
    tenth = {"new": Sample(np.array([27.4, 28.1, 31.3])), "old": Sample(np.array([27.3, 28.0, 31.2]))}
    assert isinstance(matched(PAIR, tenth), Inconclusive)


@pytest.mark.parametrize(
    ("plain", "reason"), [([60.0], "one run"), ([60.0, 61.0], "the same with every seed")]
)
def test_one_run_or_one_same_difference_says_nothing_about_seeds(plain: list[float], reason: str) -> None:
    found = matched(PAIR, {"new": Sample(np.array(plain) + 0.5), "old": Sample(np.array(plain))})
    assert isinstance(found, Inconclusive)
    assert reason in found.reason
