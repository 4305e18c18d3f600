"""From a frozen configuration to a result, in this process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from xformer.config import schema
from xformer.runs import carry_out
from xformer.runs.folder import RunFolder
from xformer.runs.reporter import Reporter
from xformer.runs.trained import Trained


class NeverStops:
    def __call__(self) -> None:
        return None

    def check(self) -> None:
        pass


class KeepsNothing:
    state = "finished"

    def log(self, values: object, update: int) -> None:
        pass

    def finished(self, result: dict[str, Any], samples: object) -> None:
        pass


def test_a_run_is_scored_on_the_device_that_it_was_trained_on(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(trained.parents[2], tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    run = tmp_path / trained.relative_to(trained.parents[3])
    (run / "result.json").unlink()
    load, asked = carry_out.load, []

    def moved(folder: RunFolder, *, device: torch.device) -> Trained:
        asked.append(device)
        return load(folder)

    def gpu(settings: schema.Trainer) -> torch.device:
        assert settings == RunFolder(run).config().trainer
        return torch.device("cuda")

    monkeypatch.setattr(carry_out, "load", moved)
    monkeypatch.setattr(carry_out, "training_device", gpu)
    reporter = Reporter(RunFolder(run), first=True)
    state = carry_out.carry_out(RunFolder(run), reporter, NeverStops(), KeepsNothing(), first=True)  # type: ignore[arg-type]
    assert state == "finished"
    assert asked == [torch.device("cuda")]
    assert (run / "result.json").exists()
