"""Compiled or not: never a failure, never other names, the same numbers."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from tests.training.runs import checkpoint, rows, small_run, train
from xformer.training import compiling

CPU, GPU = torch.device("cpu"), torch.device("cuda")

# In a process of its own: torch remembers for as long as it lives which compilers it found.
WITHOUT_A_COMPILER = """
import logging, sys
from pathlib import Path
from tests.training.runs import small_run, train

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
folder = Path(sys.argv[1])
print(train(*small_run(folder, trainer__compile="on", trainer__updates=3), folder / "run").state)
"""


def test_auto_compiles_long_runs_on_a_gpu_alone() -> None:
    assert not compiling._wanted("auto", CPU, 100_000)
    assert not compiling._wanted("auto", GPU, 100)
    assert compiling._wanted("auto", GPU, 100_000)
    assert not compiling._wanted("off", GPU, 100_000)
    assert compiling._wanted("on", CPU, 1)


def test_without_a_compiler_one_line_is_said_and_the_run_is_eager(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_COMPILER, tmp_path],
        env={
            **os.environ,
            "CXX": "/nonexistent",
            "PATH": "/nonexistent",
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
        },
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert lines[-1] == "finished"
    assert [line.split(":")[0] for line in lines if "compile" in line] == ["training runs eager"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler here")
def test_a_compiled_run_stores_the_same_names_and_learns_alike(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, logger="xformer")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    torch._dynamo.reset()
    counters.clear()
    for setting in ("off", "on"):
        changes = {"trainer__updates": 5, "model__dropout": 0.0}
        train(*small_run(tmp_path, trainer__compile=setting, **changes), tmp_path / setting)
    assert not any("eager" in record.getMessage() for record in caplog.records)
    assert counters["stats"]["unique_graphs"] > 1  # more than the trial
    compiled, eager = (checkpoint(tmp_path / setting, 5)["state_dict"] for setting in ("on", "off"))
    assert compiled.keys() == eager.keys()
    losses = [[float(row["loss"]) for row in rows(tmp_path / setting)] for setting in ("on", "off")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
