"""Every row against the base."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy import stats

from tests.study.folders import result, scores, write_run
from tests.study.planted import EFFECTS, plant
from xformer.study.collect import collect
from xformer.study.comparison import Comparison, compare
from xformer.study.measured import Measured
from xformer.study.metric import Metric
from xformer.study.statistics.pooled import Pooled
from xformer.study.table import build_tables


def compared(root: Path, metric: str = "test_bleu") -> Comparison:
    (table,), _ = build_tables(collect(root))
    return compare(Measured(table.rows, Metric.named(metric)))


def write(root: Path, experiment: str, *bleu: float) -> None:
    for seed, score in enumerate(bleu, 1):
        write_run(root, experiment, seed, outcome=result(70.0, 3.0, test=scores(score, 3.0)))


def test_two_rows_give_scipys_t_test(tmp_path: Path) -> None:
    one, other = (60.1, 61.0, 60.3), (58.9, 59.7, 60.2)
    write(tmp_path, "modern/rope", *one)
    write(tmp_path, "table3/base", *other)
    found = compared(tmp_path).differences["modern/rope"]
    expected = stats.ttest_ind(one, other)
    assert found.contrast.value == pytest.approx(sum(one) / 3 - sum(other) / 3)
    assert found.p == found.p_holm == pytest.approx(expected.pvalue)
    assert found.contrast.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_every_planted_difference_is_within_its_interval_and_clear_ones_are_found(tmp_path: Path) -> None:
    plant(tmp_path)
    found = compared(tmp_path).differences
    assert set(found) == set(EFFECTS) - {"table3/base"}
    for name, each in found.items():
        low, high = each.contrast.interval
        assert low - 0.1 < EFFECTS[name] < high + 0.1
        assert (each.p_holm < 0.05) == (abs(EFFECTS[name]) >= 0.5), name
        assert each.p_holm >= each.p


def test_one_seed_uses_the_others_spread_and_is_marked(tmp_path: Path) -> None:
    write(tmp_path, "table3/base", 60.0, 60.4, 60.2)
    write(tmp_path, "modern/rope", 61.0)
    write(tmp_path, "modern/alibi", 61.0, 61.2)
    found = compared(tmp_path)
    assert isinstance(found.pooled, Pooled)
    assert found.pooled.degrees_of_freedom == 3
    assert found.differences["modern/rope"].one_seed
    assert not found.differences["modern/alibi"].one_seed


def test_without_a_repeated_row_there_are_no_differences_and_the_reason_is_said(tmp_path: Path) -> None:
    write(tmp_path, "table3/base", 60.0)
    write(tmp_path, "modern/rope", 65.0)
    found = compared(tmp_path)
    assert found.differences == {}
    assert found.notes == ("test BLEU: no row has two seeds, so nothing can be concluded about seeds.",)


def test_without_a_base_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    write(tmp_path, "modern/rope", 65.0, 66.0)
    assert compared(tmp_path).differences == {}


def test_notes_say_what_the_intervals_rest_on_and_what_could_have_been_seen(tmp_path: Path) -> None:
    plant(tmp_path)
    first, second, third = compared(tmp_path).notes
    assert first.startswith("test BLEU: standard deviation between seeds 0.1")
    assert first.endswith("pooled over 19 rows (38 degrees of freedom).")
    assert "a true difference of 0.2" in second
    assert "among all 18 of the table" in second
    assert "kept no counts" in third


def test_rows_of_unequal_spread_are_pointed_out(tmp_path: Path) -> None:
    plant(tmp_path)
    write(tmp_path, "pitfalls/no_positions", 3.0, 22.0, 40.0)
    found = compared(tmp_path)
    assert "pitfalls/no_positions varies more with the seed than the others do" in found.notes[-1]
    assert found.differences["pitfalls/no_positions"].contrast.uncertainty.degrees_of_freedom < 2.1
    assert found.differences["table3/A_h1"].contrast.uncertainty.degrees_of_freedom == 38


def test_any_row_can_be_the_base(tmp_path: Path) -> None:
    write(tmp_path, "table3/base", 60.0, 60.4)
    write(tmp_path, "modern/rope", 61.0, 61.2)
    write(tmp_path, "modern/alibi", 59.0)
    (table,), _ = build_tables(collect(tmp_path), "modern/rope")
    found = compare(Measured(table.rows, Metric("test", "bleu"))).differences
    assert {name: each.contrast.value for name, each in found.items()} == pytest.approx(
        {"table3/base": -0.9, "modern/alibi": -2.1}
    )


def test_a_base_is_named_with_or_without_what_all_rows_share(tmp_path: Path) -> None:
    longer = "trainer.updates=300"
    for experiment in ("table3/base", "modern/rope"):
        write_run(tmp_path, experiment, 1, overrides=(longer,))
        write_run(tmp_path, experiment, 1, overrides=(longer, "model.heads=4"))
    for base in ("modern/rope model.heads=4", f"modern/rope model.heads=4 {longer}"):
        (table,), _ = build_tables(collect(tmp_path), base)
        assert [row.label for row in table.rows if row.is_base] == ["modern/rope model.heads=4"]
