"""A tracker is a copy of the run folder: one a run, never asked for, closed with the run's true state."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from tests.system.commands import SMALL, Command, Start, status_of, wait_for

TRACKED = [word for word in SMALL if word != "tracking=none"]


def records(path: Path) -> list[dict[str, Any]]:
    """What Weights & Biases' own reader finds in a run that was recorded offline."""
    wandb = Path(sys.executable).with_name("wandb")
    printed = subprocess.run(
        [wandb, "leet", "inspect", "--json", path], capture_output=True, text=True, check=True, timeout=60
    )
    return [json.loads(line) for line in printed.stdout.splitlines()]


def exit_code(path: Path) -> int:
    """The code that an offline record was closed with."""
    last = records(path)[-1]
    return int(last["exit"].get("exit_code", 0))


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_runs_of_a_sweep_file_stand_together(xformer: Command, tmp_path: Path, launcher: str) -> None:
    (tmp_path / "own" / "sweeps").mkdir(parents=True)
    (tmp_path / "own" / "sweeps" / "seeds.yaml").write_text(
        "# @package _global_\nhydra: {mode: MULTIRUN, sweeper: {params: {seed: '1,2'}}}\n"
    )
    ended = xformer(
        "train",
        "--config-dir=own",
        "sweeps=seeds",
        f"hydra/launcher={launcher}",
        *TRACKED,
        WANDB_SILENT="true",
    )
    assert ended.returncode == 0, ended.stderr
    files = list(tmp_path.glob("runs/custom/*/tracking/wandb/offline-run-*/run-*.wandb"))
    assert len(files) == 2
    for file in files:
        assert [each["run"]["run_group"] for each in records(file) if each["type"] == "run"] == ["seeds"]


def test_a_mode_that_there_is_none_of_starts_nothing(xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", *TRACKED, WANDB_MODE="bogus")
    assert ended.returncode == 2
    assert "WANDB_MODE=bogus: must be one of online, offline" in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_without_a_login_each_run_is_recorded_offline_and_closed(xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", "-m", "seed=1,2", *TRACKED, WANDB_SILENT="true")
    assert ended.returncode == 0, ended.stderr
    runs = sorted((tmp_path / "runs" / "custom").iterdir())
    assert len(runs) == 2
    for run in runs:
        (file,) = run.glob("tracking/wandb/offline-run-*/run-*.wandb")
        result = json.loads((run / "result.json").read_text())
        assert file.stem == f"run-{result['run_id']}"
        found = records(file)
        (start,) = (each["run"] for each in found if each["type"] == "run")
        assert start["run_group"] == "custom"  # no sweep file
        configuration = start["config"]["update"]
        assert configuration["seed"] == result["seed"]
        assert configuration["row_hash"] == result["row_hash"]
        assert configuration["parameters"] == result["parameters"]
        assert configuration["flops_per_token"] == result["flops_per_token"]
        assert configuration["commit"] == result["commit"]
        history = [each["history"]["item"] for each in found if each["type"] == "history"]
        with (run / "metrics.csv").open() as rows:
            written = list(csv.DictReader(rows))
        assert history.pop()["translations._type"] == "table-file"
        for item, row in zip(history, written, strict=True):
            assert item["trainer/global_step"] == int(row["update"])
            assert item["tokens"] == int(row["tokens"])
            assert item["flops"] == 3 * result["flops_per_token"] * int(row["tokens"])
        (table,) = (run / "tracking").rglob("*.table.json")
        shown = json.loads(table.read_text())
        assert shown["columns"] == ["source", "reference", "translation"]
        assert len(shown["data"]) == 12
        assert exit_code(file) == 0
        summary: dict[str, Any] = {}
        for each in found:
            if each["type"] == "summary":
                summary |= each["summary"]["update"]
        assert summary["state"] == "finished"
        assert summary["test/bleu"] == result["test"]["bleu"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]


BOARD = ("tracking=tensorboard", *TRACKED)


def board(run: Path) -> EventAccumulator:
    """What TensorBoard's own reader makes of a run folder as it is."""
    found = {file.parent for file in run.rglob("events.out.tfevents.*")}
    assert found == {run / "tracking" / "tensorboard"}  # one run on the board, not one a start
    everything = {"scalars": 0, "tensors": 0}
    return EventAccumulator(str(found.pop()), size_guidance=everything).Reload()


def text(found: EventAccumulator, name: str) -> str:
    """The last text kept under a name."""
    return str(found.Tensors(f"{name}/text_summary")[-1].tensor_proto.string_val[0].decode())


def hyperparameters(found: EventAccumulator) -> dict[str, Any]:
    """What the HParams tab reads: the configuration, flat."""
    content = found.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    values = HParamsPluginData.FromString(content).session_start_info.hparams
    return {key: getattr(value, value.WhichOneof("kind")) for key, value in values.items()}


def check_board(run: Path) -> None:
    """That the board says what metrics.csv and result.json say, each once."""
    found = board(run)
    with (run / "metrics.csv").open() as rows:
        written = list(csv.DictReader(rows))
    result = json.loads((run / "result.json").read_text())
    for name in ("nll", "loss", "tokens", "learning_rate", "gradient_norm", "dev_bleu", "dev_perplexity"):
        expected = [(int(row["update"]), float(row[name])) for row in written if row[name]]
        kept = [(each.step, each.value) for each in found.Scalars(name)]
        assert [step for step, _ in kept] == [update for update, _ in expected]
        assert [value for _, value in kept] == pytest.approx([value for _, value in expected], rel=1e-6)
    flops = [each.value for each in found.Scalars("flops")]
    spent = [3 * result["flops_per_token"] * int(row["tokens"]) for row in written]
    assert flops == pytest.approx(spent, rel=1e-6)
    assert found.Scalars("test/bleu")[-1].value == pytest.approx(result["test"]["bleu"], abs=1e-4)
    lines = text(found, "translations").split("\n")
    assert lines[0] == "source | reference | translation"
    assert len(lines) == 2 + 12
    assert text(found, "state") == "finished"
    settings = hyperparameters(found)
    assert settings["seed"] == result["seed"]
    assert settings["model/d_model"] == 16
    assert settings["row_hash"] == result["row_hash"]
    assert settings["parameters"] == result["parameters"]


def test_tensorboard_reads_a_run_folder_as_it_is(xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", *BOARD)
    assert ended.returncode == 0, ended.stderr
    (run,) = (tmp_path / "runs" / "custom").iterdir()
    check_board(run)


@pytest.mark.slow
def test_what_a_resumed_run_repeats_stands_once_on_the_board(
    start: Start, xformer: Command, tmp_path: Path
) -> None:
    """Killed between two checkpoints, so that the updates after the first are trained and logged twice."""
    long = (
        "train",
        *BOARD,
        "trainer.updates=300",
        "trainer.checkpoint_every=100",
        "trainer.validate_every=150",
    )
    command = start(*long)
    runs = tmp_path / "runs" / "custom"

    def beyond() -> bool:
        found = list(runs.glob("*")) if runs.is_dir() else []
        return bool(found) and status_of(found[0]).get("updates", 0) > 100

    wait_for(beyond)
    worker = status_of(next(runs.glob("*")))["pid"]
    for pid in (worker, command.pid):
        os.kill(pid, signal.SIGKILL)
    command.communicate()
    ended = xformer(*long)
    assert ended.returncode == 0, ended.stderr
    (run,) = runs.iterdir()
    assert len(list(run.rglob("events.out.tfevents.*"))) > 1
    check_board(run)
