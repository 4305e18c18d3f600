"""Figures and counts are found where a run keeps them, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.study.folders import config, result, scores, write_run
from tests.study.kept import write_kept
from tests.study.planted import write_evaluation
from xformer.scoring.corpus import bleu_of
from xformer.study.collect import collect
from xformer.study.metric import Metric, counts_of, evaluations_of, how_to_measure, value_of
from xformer.study.run import Run

TEST_BLEU = Metric("test", "bleu")


def only(root: Path) -> Run:
    (run,) = collect(root)
    return run


@pytest.mark.parametrize(
    ("name", "title", "sign"),
    [
        ("test_bleu", "test BLEU", 1),
        ("dev_perplexity", "dev PPL", -1),
        ("very_long_ter", "very_long TER", -1),
    ],
)
def test_a_metric_is_read_from_its_name(name: str, title: str, sign: int) -> None:
    metric = Metric.named(name)
    assert (metric.name, metric.title, metric.sign) == (name, title, sign)


@pytest.mark.parametrize("name", ["bleu", "_bleu", "test_", "test_rouge", ""])
def test_what_is_no_metric_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no metric"):
        Metric.named(name)


def test_dev_and_test_are_the_results(tmp_path: Path) -> None:
    outcome = result(dev=scores(70.0, 3.0), test=scores(60.0, 4.0, ter=33.0))
    write_run(tmp_path, outcome=outcome)
    found = {
        name: value_of(only(tmp_path), Metric.named(name)) for name in ("dev_bleu", "test_bleu", "test_ter")
    }
    assert found == {"dev_bleu": 70.0, "test_bleu": 60.0, "test_ter": 33.0}


def test_other_splits_and_decodings_are_the_evaluations_that_fit(tmp_path: Path) -> None:
    folder = write_run(tmp_path, configuration=config(decode__beam=8))
    write_evaluation(folder, "long", 11.0, beam=4)
    write_evaluation(folder, "long", 22.0, beam=8)
    write_evaluation(folder, "test", 33.0, beam=8, average=5)
    write_evaluation(folder, "valid", 44.0, beam=8, average=3)
    (folder / "evaluations" / "broken.json").write_text("{")
    run = only(tmp_path)
    assert value_of(run, Metric("long", "bleu")) == 22.0
    assert value_of(run, Metric("long", "bleu"), (("beam", 4),)) == 11.0
    assert value_of(run, TEST_BLEU, (("average", 5),)) == 33.0
    assert value_of(run, Metric("dev", "bleu"), (("average", 3),)) == 44.0
    assert value_of(run, TEST_BLEU, (("average", 7),)) is None
    assert value_of(run, Metric("other", "bleu")) is None


def test_an_evaluation_of_weights_that_the_run_has_left_behind_is_none(tmp_path: Path) -> None:
    folder = write_run(tmp_path, outcome=result(updates=100))
    path = write_evaluation(folder, "long", 11.0)
    for update, kept in ((50, []), (100, [100])):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"update": update}))
        assert [evaluation.update for evaluation, _ in evaluations_of(only(tmp_path))] == kept


def test_an_evaluation_within_other_lengths_is_another_decoding(tmp_path: Path) -> None:
    folder = write_run(tmp_path, configuration=config(decode__min_length=2))
    write_evaluation(folder, "long", 11.0, max_length=5)
    write_evaluation(folder, "long", 22.0)
    assert value_of(only(tmp_path), Metric("long", "bleu")) is None
    write_evaluation(folder, "long", 33.0, min_length=2)
    assert value_of(only(tmp_path), Metric("long", "bleu")) == 33.0


def test_what_was_not_measured_says_how_it_is(tmp_path: Path) -> None:
    assert how_to_measure(Metric("long", "bleu"), ()) == "xformer evaluate RUN --split long"
    decoding = (("alpha", 0.6), ("extra_length", 9), ("average", 5))
    assert how_to_measure(Metric("dev", "bleu"), decoding) == (
        "xformer evaluate RUN --split valid --alpha 0.6 --extra-length 9 --average 5"
    )


@pytest.mark.parametrize(
    ("split", "options"),
    [
        ("test.join3", "--split test --join 3"),
        ("wmt14.en-de", "--testset wmt14 --langpair en-de"),
        ("wmt14.en-de.join2", "--testset wmt14 --langpair en-de --join 2"),
    ],
)
def test_other_test_sets_are_measured_by_their_own_options(split: str, options: str) -> None:
    assert how_to_measure(Metric(split, "bleu"), ()) == f"xformer evaluate RUN {options}"


def test_kept_counts_give_the_score_of_the_result(tmp_path: Path) -> None:
    write_kept(tmp_path, "table3/base", 1)
    run = only(tmp_path)
    counts = counts_of(run, TEST_BLEU)
    assert counts is not None
    assert counts.shape == (80, 10)
    assert bleu_of(counts.sum(axis=0)) == value_of(run, TEST_BLEU)
    assert counts_of(run, Metric("test", "perplexity")) is None
    assert counts_of(run, Metric("dev", "bleu")) is None


@pytest.mark.parametrize("damage", ["gone", "cut", "nonsense", "changed"])
def test_counts_that_do_not_fit_the_score_are_not_used(tmp_path: Path, damage: str) -> None:
    path = write_kept(tmp_path, "table3/base", 1) / "hypotheses" / "test.bleu.csv"
    lines = path.read_text().splitlines()
    if damage == "gone":
        path.unlink()
    elif damage == "changed":  # as many lines as the run has, one of them another's
        path.write_text("\n".join([*lines[:-1], lines[1]]))
    else:
        path.write_text("\n".join(lines[:-5] if damage == "cut" else ["nonsense", *lines[1:]]))
    assert counts_of(only(tmp_path), TEST_BLEU) is None
