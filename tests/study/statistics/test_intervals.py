"""Intervals and p-values against scipy's tests, and their two parts together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from xformer.study.statistics.contrast import Sample, contrast
from xformer.study.statistics.intervals import Uncertainty, holm, p_equivalent
from xformer.study.statistics.pooled import Pooled, pool

ONE, OTHER = np.array([27.9, 28.5, 28.2, 28.3]), np.array([27.1, 27.9, 27.6])


def two_groups() -> tuple[float, Uncertainty]:
    pooled = pool({"one": ONE, "other": OTHER})
    assert isinstance(pooled, Pooled)
    found = contrast({"one": 1, "other": -1}, {"one": Sample(ONE), "other": Sample(OTHER)}, pooled)
    return found.value, found.uncertainty


def test_two_rows_give_the_t_test_with_pooled_variance() -> None:
    difference, uncertainty = two_groups()
    expected = stats.ttest_ind(ONE, OTHER)
    interval = expected.confidence_interval(0.95)
    assert uncertainty.p_two_sided(difference) == pytest.approx(expected.pvalue, rel=1e-12)
    assert difference - uncertainty.half() == pytest.approx(interval.low)
    assert difference + uncertainty.half() == pytest.approx(interval.high)
    for side, distance in (("greater", difference), ("less", -difference)):
        one_sided = stats.ttest_ind(ONE, OTHER, alternative=side).pvalue
        assert uncertainty.p_above(distance) == pytest.approx(one_sided, rel=1e-12)


@pytest.mark.parametrize("margin", [0.1, 0.5, 0.8, 1.5])
def test_equivalence_is_two_one_sided_t_tests(margin: float) -> None:
    difference, uncertainty = two_groups()
    above = stats.ttest_ind(ONE + margin, OTHER, alternative="greater").pvalue
    below = stats.ttest_ind(ONE - margin, OTHER, alternative="less").pvalue
    assert p_equivalent(difference, margin, uncertainty) == pytest.approx(max(above, below), rel=1e-12)


@pytest.mark.parametrize("sentences", [None, 0.01, 0.3, 3.0])
def test_equivalence_holds_exactly_where_the_interval_of_90_per_cent_is_inside_the_margin(
    sentences: float | None,
) -> None:
    uncertainty = Uncertainty(0.3, 4, sentences)
    limit = 0.2 + uncertainty.half(0.90)
    assert p_equivalent(0.2, limit + 1e-6, uncertainty) < 0.05 < p_equivalent(0.2, limit - 1e-6, uncertainty)


def test_the_parts_are_added_in_quadrature_at_every_level() -> None:
    both = Uncertainty(0.3, 40, 0.4)
    assert both.seeds_half() == pytest.approx(0.3 * stats.t.ppf(0.975, 40))
    assert both.sentences_half() == pytest.approx(0.4 * stats.norm.ppf(0.975))
    for confidence in (0.5, 0.9, 0.999):
        parts = 0.3 * stats.t.ppf((1 + confidence) / 2, 40), 0.4 * stats.norm.ppf((1 + confidence) / 2)
        assert both.half(confidence) == pytest.approx(np.hypot(*parts))


@pytest.mark.parametrize("sentences", [1e-6, 0.1, 0.4, 5.0])
@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-3, 1e-9])
def test_the_p_value_is_the_level_at_which_the_interval_touches_zero(sentences: float, alpha: float) -> None:
    both = Uncertainty(0.3, 5, sentences)
    assert both.p_two_sided(both.half(1 - alpha)) == pytest.approx(alpha, rel=1e-6)


def test_a_second_part_never_makes_a_difference_more_certain() -> None:
    for distance in (0.0, 0.1, 1.0, 50.0):
        alone = Uncertainty(0.3, 2).p_two_sided(distance)
        assert Uncertainty(0.3, 2, 0.2).p_two_sided(distance) >= alone
    assert Uncertainty(0.3, 2).p_two_sided(0.0) == 1


def test_no_distance_is_too_large() -> None:
    assert 0 <= Uncertainty(1e-9, 40, 1e-9).p_two_sided(100.0) < 1e-30


def test_holm_is_worked_out_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_holm_rejects_what_its_step_down_rule_rejects() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        p_values = random.beta(0.3, 1, size=random.integers(1, 12))
        rejected = np.zeros(len(p_values), dtype=bool)
        for rank, index in enumerate(np.argsort(p_values)):
            if p_values[index] > 0.05 / (len(p_values) - rank):
                break
            rejected[index] = True
        assert [p <= 0.05 for p in holm(p_values.tolist())] == rejected.tolist()
