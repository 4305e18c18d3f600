"""Compiled or not: never a failure, never other names, the same numbers."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
import torch

from tests.training.runs import checkpoint, rows, small_run, train
from xformer.training import compiling

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def fresh_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No code compiled before, by this process or another."""
    torch._dynamo.reset()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")


def test_auto_compiles_long_runs_on_a_gpu_alone() -> None:
    assert not compiling._wanted("auto", CPU, 100_000)
    assert not compiling._wanted("auto", GPU, 100)
    assert compiling._wanted("auto", GPU, 100_000)
    assert not compiling._wanted("off", GPU, 100_000)
    assert compiling._wanted("on", CPU, 1)


def test_without_a_compiler_one_line_is_said_and_the_run_is_eager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="xformer")
    monkeypatch.setenv("CXX", "/nonexistent")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", (None, "/nonexistent"))
    outcome = train(*small_run(tmp_path, trainer__compile="on", trainer__updates=3), tmp_path / "run")
    assert outcome.state == "finished"
    said = [record.getMessage() for record in caplog.records if "compile" in record.getMessage()]
    assert len(said) == 1
    assert said[0].startswith("training runs eager")
    assert "\n" not in said[0]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler here")
def test_a_compiled_run_stores_the_same_names_and_learns_alike(tmp_path: Path) -> None:
    for setting in ("off", "on"):
        changes = {"trainer__updates": 5, "model__dropout": 0.0}
        train(*small_run(tmp_path, trainer__compile=setting, **changes), tmp_path / setting)
    compiled, eager = (checkpoint(tmp_path / setting, 5)["state_dict"] for setting in ("on", "off"))
    assert compiled.keys() == eager.keys()
    losses = [[float(row["loss"]) for row in rows(tmp_path / setting)] for setting in ("on", "off")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
