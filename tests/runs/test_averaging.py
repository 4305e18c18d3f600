"""An average is a run like any other, made once, and never in place of something else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from xformer import cli
from xformer.config import schema
from xformer.runs.averaging import MARK
from xformer.runs.folder import RunFolder
from xformer.runs.trained import load
from xformer.study.report import build_report
from xformer.training.checkpoints import list_checkpoints, load_weights


def average(run: Path, *arguments: str) -> int:
    return cli.main(["average", str(run), *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_weights_are_the_mean_of_the_last_n_in_single_precision(run: Path) -> None:
    before = contents(run)
    assert average(run, "--last", "2") == 0
    out = run.with_name(f"{run.name}-average2")
    *_, first, second = (load_weights(path) for path in list_checkpoints(run / "checkpoints"))
    (path,) = list_checkpoints(out / "checkpoints")
    mean = load_weights(path)
    assert path.name == "update-00000012.ckpt"
    assert mean.keys() == second.keys()
    for name, tensor in mean.items():
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor, (first[name].double() + second[name].double()).div(2).float())
    assert any(not torch.equal(mean[name], second[name]) for name in mean)
    assert contents(run) == before  # the original as it was


def test_it_is_the_model_that_averaging_in_evaluate_gives(run: Path) -> None:
    assert average(run, "--last", "3") == 0
    out = load(RunFolder(run.with_name(f"{run.name}-average3")))
    there = load(RunFolder(run), average=3)
    assert out.averaged == there.averaged == 3
    assert out.update == there.update == 12
    for name, tensor in out.model.state_dict().items():
        assert torch.equal(tensor, there.model.state_dict()[name])


def test_it_is_scored_and_evaluated_translated_and_reported_like_any_run(
    run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert average(run, "--last", "2", "--out", "runs/mean") == 0
    assert capfd.readouterr().out == "runs/mean\n"
    result = json.loads(Path("runs/mean/result.json").read_text())
    assert result["averaged_updates"] == [8, 12]
    of_training = json.loads((run / "result.json").read_text())["decode"]
    assert tuple(of_training) == schema.DECODING
    assert result["decode"] == of_training | {"average": 2}
    assert cli.main(["evaluate", "runs/mean"]) == 0
    (evaluated,) = Path("runs/mean/evaluations").glob("*.json")
    scores = json.loads(evaluated.read_text())
    assert scores["averaged_checkpoints"] == 2
    assert scores["splits"]["test"]["perplexity"] == result["test"]["perplexity"]
    assert cli.main(["evaluate", str(run), "--average", "2"]) == 0
    of_run = json.loads((run / "evaluations" / evaluated.name).read_text())
    assert of_run["splits"]["test"]["bleu"] == result["test"]["bleu"]

    (source,) = Path("runs/.cache/corpora").glob("*/test.qma")
    assert cli.main(["translate", "runs/mean", "--input", str(source), "--output", "out"]) == 0
    assert Path("out").read_text() == Path("runs/mean/hypotheses/test.txt").read_text()

    report = build_report(Path("runs"))
    decoders = {table.setting.decoder: len(table.rows[0].runs) for table in report.tables}
    assert len(report.runs) == 2
    assert {run.state for run in report.runs} == {"finished"}
    assert sorted(decoder.rpartition(", ")[2] for decoder in decoders if decoder) == [
        "average of the last 2 checkpoints",
        "no averaging",
    ]


def test_the_same_again_changes_nothing(run: Path) -> None:
    assert average(run, "--last", "2") == 0
    out = run.with_name(f"{run.name}-average2")
    before = contents(out)
    assert average(run, "--last", "2") == 0
    assert contents(out) == before


def test_what_was_left_half_made_is_made_again(run: Path) -> None:
    assert average(run, "--last", "2") == 0
    out = run.with_name(f"{run.name}-average2")
    whole = {
        name: text for name, text in contents(out).items() if "result" not in name and "status" not in name
    }
    for path in (out / "result.json", out / "tokenizer.json", *list_checkpoints(out / "checkpoints")):
        path.unlink()
    assert average(run, "--last", "2") == 0
    assert (out / "result.json").exists()
    assert {name: text for name, text in contents(out).items() if name in whole} == whole


def test_an_older_average_gives_way_when_the_run_has_gone_on(run: Path) -> None:
    newest = list_checkpoints(run / "checkpoints")[-1]
    newest.rename("aside")
    assert average(run, "--last", "2") == 0
    out = run.with_name(f"{run.name}-average2")
    assert json.loads((out / MARK).read_text())["averaged"] == [4, 8]
    Path("aside").rename(newest)
    assert average(run, "--last", "2") == 0
    assert json.loads((out / MARK).read_text())["averaged"] == [8, 12]
    assert [path.name for path in list_checkpoints(out / "checkpoints")] == ["update-00000012.ckpt"]


def test_too_few_checkpoints_are_refused_and_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert average(run, "--last", "4") == 2
    error = capsys.readouterr().err
    assert "4 checkpoints to average, there are 3: of update 4, 8, 12" in error
    assert average(run, "--last", "0") == 2
    assert not list(run.parent.glob("*average*"))


def test_nothing_else_is_written_over(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/notes").write_text("precious")
    shutil.copytree(run, "runs/another")
    for out in (str(run), "mine", "mine/notes", "runs/another"):
        before = contents(Path())
        assert average(run, "--last", "2", "--out", out) == 2
        assert "--out" in capsys.readouterr().err
        assert contents(Path()) == before


def test_an_average_is_not_averaged_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert average(run, "--last", "2", "--out", "mean") == 0
    assert average(Path("mean"), "--last", "1") == 2
    assert "is an average already" in capsys.readouterr().err
    assert cli.main(["evaluate", "mean", "--average", "1"]) == 2
    assert "is the mean of 2 checkpoints" in capsys.readouterr().err


def test_an_unfinished_run_is_averaged_and_not_scored(run: Path) -> None:
    (run / "result.json").unlink()
    assert average(run, "--last", "2", "--out", "mean") == 0
    status = json.loads(Path("mean/status.json").read_text())
    assert status["state"] == "interrupted"
    assert "not finished" in status["reason"]
    assert load(RunFolder(Path("mean"))).averaged == 2


def test_without_its_corpus_it_is_averaged_and_says_that_it_is_not_scored(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("seed: 1\n  train_pairs", "seed: 2\n  train_pairs"))
    assert average(run, "--last", "2", "--out", "mean") == 0
    assert "not scored" in capsys.readouterr().err
    assert json.loads(Path("mean/status.json").read_text())["state"] == "interrupted"
