"""A tracker is a copy of the run folder: one a run, never asked for, closed with the run's true state."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.system.commands import SMALL, Command

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
        (configuration,) = (each["run"]["config"]["update"] for each in found if each["type"] == "run")
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
