"""Jobs of a sweep neither see nor harm one another, and the command says how each ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.system.commands import SMALL, Command, Start, run_in, status_of, wait_for
from xformer.config import schema
from xformer.config.compose import compose
from xformer.config.overrides import quote
from xformer.runs.failures import forget_failure, record_failure

JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")


@pytest.mark.parametrize(("launcher", "place"), [((), "runs"), (JOBLIB, "my runs, 50% = $x")])
def test_each_job_has_a_run_folder_of_its_own(
    xformer: Command, tmp_path: Path, launcher: tuple[str, ...], place: str
) -> None:
    arguments = ("experiments=table3/base", "seed=1,2", f"runs_dir={quote(place)}")
    ended = xformer("train", "-m", *arguments, *SMALL, *launcher)
    assert ended.returncode == 0, ended.stderr
    assert "2 runs: 2 finished" in ended.stderr
    runs = sorted((tmp_path / place / "table3" / "base").iterdir())
    assert [json.loads((run / "result.json").read_text())["seed"] for run in runs] == [1, 2]
    assert len({json.loads((run / "result.json").read_text())["row_hash"] for run in runs}) == 1
    assert len(list(tmp_path.rglob("multirun.yaml"))) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [place]


def test_a_dry_run_says_what_each_run_lacks_and_starts_none(xformer: Command, tmp_path: Path) -> None:
    def told(*arguments: str) -> list[str]:
        ended = xformer("train", "-m", "experiments=table3/base", *SMALL, *arguments, "--dry-run")
        assert ended.returncode == 0, ended.stderr
        assert f"{len(ended.stdout.splitlines())} run" in ended.stderr
        assert "nothing was started" in ended.stderr
        return ended.stdout.splitlines()

    first = told("seed=1,2")
    assert [line.split()[:4] for line in first] == [["train", "table3/base", "seed", n] for n in "12"]
    assert not list(tmp_path.rglob("config.yaml"))
    assert xformer("train", "experiments=table3/base", *SMALL, "seed=1").returncode == 0
    (run,) = (tmp_path / "runs" / "table3" / "base").iterdir()
    second = told("seed=1,2")
    assert second == [f"nothing     table3/base seed 1  runs/table3/base/{run.name} (finished)", first[1]]
    assert told("seed=1", "decode.beam=2")[0].startswith("score again table3/base seed 1 ")
    status = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps(status | {"state": "interrupted", "updates": 8}))
    assert told("seed=1")[0].endswith("(interrupted, update 8 of 12)")
    assert told("seed=1")[0].startswith("go on ")


def test_a_dry_run_names_a_corpus_that_is_wrong(xformer: Command, tmp_path: Path) -> None:
    files = ("data=files", "data.dir=.", "data.source=a", "data.target=b")
    small = [word for word in SMALL if not word.startswith("data.")]
    ended = xformer("train", *files, *small, "--dry-run")
    assert ended.returncode == 2
    assert ended.stdout.startswith("wrong       custom seed 1: ")
    assert xformer("train", "-m", "seed=1,2", *files, *small, "--dry-run").returncode == 1
    assert not list(tmp_path.rglob("failed"))


def test_a_row_that_has_its_text_at_last_is_no_longer_failed(tmp_path: Path) -> None:
    def config(place: str) -> tuple[schema.Config, list[str]]:
        words = [f"runs_dir={tmp_path}", "data=files", f"data.dir={place}", "data.source=a", "data.target=b"]
        return compose(words), words

    path = record_failure(*config("wrong"), "no such folder")
    assert path.exists()
    forget_failure(*config("right"))
    assert not path.exists()


def test_rows_with_wrong_data_are_recorded_and_the_others_go_on(xformer: Command, tmp_path: Path) -> None:
    text = "".join(f"word{i % 7} word{i % 5} word{i % 3}\n" for i in range(40))
    for name in ("train", "valid", "good"):
        for side in ("a", "b"):
            (tmp_path / f"{name}.{side}").write_text(text)
    small = [word for word in SMALL if not word.startswith("data.") and "vocabulary" not in word]
    arguments = ("train", "-m", "data=files", "data.dir=.", "data.source=a", "data.target=b", *small,
                 "tokenizer.vocabulary=262", "data.test=bad1,bad2,good")  # fmt: skip
    ended = xformer(*arguments)
    assert ended.returncode == 1
    assert "3 runs: 2 wrong, 1 finished" in ended.stderr
    assert "bad1" in ended.stderr
    assert "bad2" in ended.stderr
    assert "Traceback" not in ended.stderr
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs" / "failed").iterdir()]
    assert len(records) == 2
    assert all("bad" in record["reason"] for record in records)
    assert "failed" in xformer("status", "runs", COLUMNS="200").stdout
    for side in ("a", "b"):
        (tmp_path / f"bad1.{side}").write_text(text)
    assert xformer(*arguments).returncode == 1
    assert len(list((tmp_path / "runs" / "failed").iterdir())) == 1


@pytest.mark.parametrize("launcher", [(), ("hydra/launcher=joblib", "hydra.launcher.n_jobs=1")])
def test_ctrl_c_stops_the_job_and_starts_no_other_and_the_same_command_completes_all(
    start: Start, tmp_path: Path, launcher: tuple[str, ...]
) -> None:
    small = (*SMALL, "trainer.updates=300", "trainer.validate_every=300")
    arguments = ("train", "-m", "seed=1,2,3", *small, *launcher)
    command = start(*arguments)

    def statuses() -> list[dict[str, Any]]:
        return [status_of(run) for run in tmp_path.glob("runs/custom/*")]

    wait_for(lambda: any(status.get("updates", 0) > 5 for status in statuses()))
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 130, errors
    assert [status["state"] for status in statuses()] == ["interrupted"]
    assert "1 interrupted, 2 not started" in errors
    assert "Traceback" not in errors
    ended = run_in(tmp_path)(*arguments)
    assert ended.returncode == 0, ended.stderr
    assert [status["updates"] for status in statuses()] == [300, 300, 300]


def test_a_killed_row_beside_another_leaves_the_other_alone(start: Start, tmp_path: Path) -> None:
    arguments = (
        "train",
        "-m",
        "seed=1,2",
        *SMALL,
        "trainer.updates=400",
        "trainer.validate_every=400",
        *JOBLIB,
    )
    command = start(*arguments)

    def first() -> dict[str, Any]:
        runs = list(tmp_path.glob("runs/custom/*-s1-*"))
        return status_of(runs[0]) if runs else {}

    wait_for(lambda: first().get("updates", 0) > 5)
    os.kill(first()["pid"], signal.SIGKILL)
    _, errors = command.communicate(timeout=240)
    assert command.returncode == 1, errors
    assert "1 failed" in errors
    assert "1 finished" in errors
    assert "log.txt" in errors
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""


def test_machines_that_nothing_tells_apart_are_a_mistake_of_their_rows(xformer: Command) -> None:
    ended = xformer("train", "-m", "seed=1,2", *SMALL, "trainer.num_nodes=2")
    assert ended.returncode == 1
    assert "2 runs: 2 wrong" in ended.stderr
    assert "NODE_RANK" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_two_ranks_make_one_run_of_the_same_updates(xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", "-m", "seed=1,2", "trainer.devices=1", *SMALL, "runs_dir=one")
    assert ended.returncode == 0, ended.stderr
    ended = xformer(
        "train", "-m", "seed=1,2", "trainer.devices=2", "trainer.accelerator=cpu", *SMALL, "runs_dir=two"
    )
    assert ended.returncode == 0, ended.stderr
    assert len(list((tmp_path / "two").rglob("multirun.yaml"))) == 1
    for one in (tmp_path / "one" / "custom").iterdir():
        two = tmp_path / "two" / "custom" / one.name
        first, second = (json.loads((run / "result.json").read_text()) for run in (one, two))
        assert first["updates"] == second["updates"] == 12
        assert first["test"]["perplexity"] == pytest.approx(second["test"]["perplexity"], rel=1e-4)
        assert len((two / "hypotheses" / "test.txt").read_text().splitlines()) == 15
