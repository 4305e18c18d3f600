"""What is pooled, what is kept apart, and in which order it stands."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.study.folders import config, result, scores, write_failed, write_run
from xformer.study.collect import collect
from xformer.study.paper import paper_rows
from xformer.study.table import Row, Table, build_tables


def tables(root: Path) -> tuple[Table, ...]:
    return build_tables(collect(root))[0]


def only(root: Path) -> Table:
    (table,) = tables(root)
    return table


def row(table: Table, label: str) -> Row:
    (found,) = (each for each in table.rows if each.label == label)
    return found


def test_rows_stand_in_the_papers_order_however_they_were_found(tmp_path: Path) -> None:
    rows = list(paper_rows())
    random.Random(0).shuffle(rows)
    for paper in rows:
        write_run(tmp_path, paper.name)
    table = only(tmp_path)
    assert [each.experiment for each in table.paper_block] == [paper.name for paper in paper_rows()]
    assert all(each.paper is not None and each.paper.name == each.experiment for each in table.paper_block)


def test_a_paper_row_that_was_not_run_is_missing(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    table = only(tmp_path)
    assert len(table.paper_block) == 20
    assert row(table, "base").state == "finished"
    assert {each.state for each in table.paper_block if each.label != "base"} == {"missing"}


def test_a_folder_without_rows_of_the_paper_has_no_block_of_missing_ones(tmp_path: Path) -> None:
    write_run(tmp_path, "modern/rope")
    assert only(tmp_path).paper_block == ()


def test_other_experiments_stand_in_a_second_block_by_name(tmp_path: Path) -> None:
    for experiment in ("table3/base", "pitfalls/scale_none", "custom", "modern/rope", "table3/of_my_own"):
        write_run(tmp_path, experiment)
    labels = [each.label for each in only(tmp_path).other_block]
    assert labels == ["custom", "modern/rope", "pitfalls/scale_none", "of_my_own"]


def test_seeds_of_one_row_are_pooled_with_mean_and_sample_deviation(tmp_path: Path) -> None:
    for seed, bleu in ((1, 70.0), (2, 71.0), (3, 75.0)):
        write_run(tmp_path, seed=seed, outcome=result(bleu))
    base = row(only(tmp_path), "base")
    summary = base.over_seeds(lambda outcome: outcome.dev.bleu if outcome.dev else None)
    assert summary is not None
    assert (summary.mean, summary.seeds) == (72.0, 3)
    assert summary.deviation == pytest.approx(7.0**0.5)  # (4 + 1 + 9) / 2
    assert base.state == "3 finished"


def test_one_seed_has_no_deviation(tmp_path: Path) -> None:
    write_run(tmp_path)
    summary = row(only(tmp_path), "base").over_seeds(lambda outcome: outcome.wall_seconds)
    assert summary is not None
    assert summary.deviation is None


def test_a_row_with_overrides_is_a_row_of_its_own_and_not_the_papers(tmp_path: Path) -> None:
    write_run(tmp_path, outcome=result(70.0))
    write_run(tmp_path, overrides=("model.dropout=0.2",), outcome=result(10.0))
    table = only(tmp_path)
    assert [each.label for each in table.paper_block[:2]] == ["base", "base model.dropout=0.2"]
    plain, changed = table.paper_block[:2]
    assert plain.paper is not None
    assert changed.paper is None
    assert len(plain.finished) == len(changed.finished) == 1


def test_a_paper_row_that_ran_only_with_overrides_is_said_to_be_missing(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/A_h1", overrides=("trainer.updates=10",))
    table = only(tmp_path)
    assert "A_h1" not in [each.label for each in table.paper_block]
    assert table.remarks == ("run with overrides only, never as the paper has it: A_h1",)


def test_what_all_rows_were_trained_with_belongs_to_the_setting(tmp_path: Path) -> None:
    write_run(tmp_path, overrides=("trainer.updates=300",))
    write_run(tmp_path, "table3/A_h1", overrides=("trainer.updates=300",))
    write_run(tmp_path, "table3/A_h1", overrides=("trainer.updates=300", "optim.beta2=0.9"))
    table = only(tmp_path)
    labels = [row.label for row in table.rows if row.runs]
    assert labels == ["base", "A_h1", "A_h1 optim.beta2=0.9"]
    assert [row.paper is not None for row in table.rows if row.runs] == [True, True, False]
    assert ("every row with", "trainer.updates=300") in table.lines()
    broken = write_run(tmp_path, "table3/big", overrides=("trainer.updates=300",))
    (broken / "status.json").write_text("{")
    assert only(tmp_path).shared == ("trainer.updates=300",), "what a broken run was told is not known"


def test_what_one_row_lacks_or_what_changes_the_model_makes_other_rows(tmp_path: Path) -> None:
    for seed, name in enumerate(("table3/base", "table3/A_h1")):
        write_run(tmp_path / "model", name, overrides=("model.dropout=0.2", "model/norm=rmsnorm"))
        write_run(tmp_path / "some", name, overrides=("trainer.updates=300",))
        write_run(tmp_path / "seeds", seed=seed, overrides=("trainer.updates=300",))
        write_run(tmp_path / "smoothing", name, overrides=("optim.label_smoothing=0.2",))
    write_run(tmp_path / "some", "modern/rope")
    for folder in ("model", "some", "seeds", "smoothing"):
        table = only(tmp_path / folder)
        assert table.shared == ()
        assert all(row.overrides for row in table.rows if row.runs and row.experiment != "modern/rope")


def test_two_rows_of_one_label_are_told_apart_by_their_hashes(tmp_path: Path) -> None:
    write_run(tmp_path, row_hash="aaaaaaaa")
    write_run(tmp_path, row_hash="bbbbbbbb")
    labels = [each.label for each in only(tmp_path).paper_block[:2]]
    assert labels == ["base #aaaaaaaa", "base #bbbbbbbb"]


def test_a_copied_folder_is_not_a_second_seed(tmp_path: Path) -> None:
    write_run(tmp_path / "here")
    write_run(tmp_path / "there")
    table = only(tmp_path)
    base = row(table, "base")
    assert len(base.finished) == 1
    assert base.state == "finished"
    assert "counted once" in " ".join(table.remarks)


def test_only_finished_runs_are_averaged(tmp_path: Path) -> None:
    write_run(tmp_path, seed=1, outcome=result(70.0))
    write_run(tmp_path, seed=2, state="diverged", reason="loss is nan", outcome=result(1.0))
    broken = write_run(tmp_path, seed=3, outcome=result(1.0))
    (broken / "status.json").write_text("{")
    table = only(tmp_path)
    base = row(table, "base")
    summary = base.over_seeds(lambda outcome: outcome.dev.bleu if outcome.dev else None)
    assert summary is not None
    assert (summary.mean, summary.seeds) == (70.0, 1)
    assert base.state == "1 finished, 1 diverged, 1 unreadable"
    assert any("seed 2: diverged: loss is nan" in remark for remark in table.remarks)
    assert any(f"seed 3: unreadable ({broken.name}): " in remark for remark in table.remarks)


def test_a_running_row_shows_how_far_it_is(tmp_path: Path) -> None:
    write_run(tmp_path, state="running", updates=120, host="elsewhere.invalid")
    assert row(only(tmp_path), "base").state == "running 120/600"


MINI: dict[str, Any] = {"scale__name": "mini", "scale__width": "1/4"}
FILES = {"kind": "files", "dir": "/data/multi30k", "source": "en", "target": "de"}


@pytest.mark.parametrize(
    ("configuration", "outcome"),
    [
        (config(**MINI), result()),
        (config(scale__width="1/4"), result()),
        (config(data=FILES), result()),
        (config(data__seed=2), result()),
        (config(tokenizer__vocabulary=1000), result()),
        (config(decode__beam=1), result()),
        (config(decode__average=5), result()),
        (config(decode__min_length=3), result()),
        (config(decode__max_length=30), result()),
        (config(), result(tokenizer="bpe-640-other")),
        (config(), result(data_hash="0123")),
        (config(), result() | {"dev": scores(70.0, 3.0, signature={"bleu": "nrefs:1|tok:intl"})}),
        (config(), result() | {"dev": scores(70.0, 3.0, signature={})}),
    ],
    ids=lambda value: None,
)
def test_scores_of_different_settings_never_share_a_table(
    tmp_path: Path, configuration: dict[str, object], outcome: dict[str, object]
) -> None:
    write_run(tmp_path / "one", "table3/base", row_hash="aaaaaaaa")
    write_run(
        tmp_path / "other", "table3/base", row_hash="aaaaaaaa", configuration=configuration, outcome=outcome
    )
    found = tables(tmp_path)
    assert len(found) == 2
    assert found[0].setting != found[1].setting
    assert found[0].setting.lines() != found[1].setting.lines()


def test_where_the_same_text_lies_and_how_fast_it_is_decoded_make_no_difference(tmp_path: Path) -> None:
    write_run(tmp_path / "one", configuration=config(data=FILES))
    moved = config(data=FILES | {"dir": "/elsewhere"}, decode__tokens_per_batch=7, seed=2)
    write_run(tmp_path / "other", seed=2, configuration=moved)
    assert len(tables(tmp_path)) == 1


def test_the_same_text_by_two_ways_is_one_corpus(tmp_path: Path) -> None:
    hub = {"kind": "hub", "name": "multi30k", "revision": "abc", "source": "en", "target": "de"}
    files = {"kind": "files", "dir": "here", "source": "en", "target": "de"}
    for seed, (data, name) in enumerate(((hub, "multi30k-en-de"), (files, "here-en-de")), 1):
        outcome = result(data=name, data_hash="0123abcd")
        write_run(
            tmp_path, seed=seed, configuration=config(seed=seed, data=data), outcome=outcome, row_hash="a" * 8
        )
    assert len(row(only(tmp_path), "base").finished) == 2


def test_an_unscored_run_joins_the_table_it_does_not_contradict(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base", configuration=config("table3/base", **MINI))
    write_run(tmp_path, "table3/big")
    write_run(tmp_path, "table3/A_h1", state="failed", reason="out of memory")
    tiny = next(table for table in tables(tmp_path) if table.setting.scale == "tiny")
    assert row(tiny, "A_h1").state == "failed"
    mini = next(table for table in tables(tmp_path) if table.setting.scale == "mini")
    assert row(mini, "A_h1").state == "missing"


def test_runs_of_which_none_is_scored_share_a_table(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base", state="failed", reason="killed")
    write_run(tmp_path, "table3/big", state="interrupted")
    (write_run(tmp_path, "table3/A_h1") / "config.yaml").write_text("")
    assert [row(only(tmp_path), name).state for name in ("base", "big", "A_h1")] == [
        "failed",
        "interrupted",
        "unreadable",
    ]


def test_a_row_that_could_not_start_is_failed_in_the_one_table_it_can_belong_to(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_failed(tmp_path, "table3/big", "data.dir=nowhere", reason="nowhere: no such folder")
    found, unplaced = build_tables(collect(tmp_path))
    assert unplaced == ()
    assert row(found[0], "big").state == "failed"
    assert "table3/big: failed: nowhere: no such folder" in found[0].remarks


def test_a_row_that_could_not_start_is_listed_apart_where_its_table_is_uncertain(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/base", configuration=config("table3/base", **MINI))
    write_failed(tmp_path, "table3/big", reason="nowhere: no such folder")
    found, unplaced = build_tables(collect(tmp_path))
    assert [run.experiment for run in unplaced] == ["table3/big"]
    assert all(row(table, "big").state == "missing" for table in found)


def test_larger_scales_come_first(tmp_path: Path) -> None:
    for scale in ("tiny", "mine", "paper", "mini"):
        write_run(tmp_path / scale, configuration=config(scale__name=scale))
    assert [table.setting.scale for table in tables(tmp_path)] == ["paper", "mini", "tiny", "mine"]
