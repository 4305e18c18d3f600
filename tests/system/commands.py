"""Whole commands, run as a person runs them: in a process of their own, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]

# A model and a corpus so small that a run takes seconds, imports included.
SMALL = (
    "tracking=none",
    "trainer.threads=1",
    "data.train_pairs=300",
    "data.valid_pairs=12",
    "data.test_pairs=15",
    "data.long_pairs=5",
    "tokenizer.vocabulary=300",
    "model.d_model=16",
    "model.d_ff=32",
    "model.heads=2",
    "model.layers=1",
    "trainer.updates=12",
    "trainer.validate_every=6",
    "trainer.checkpoint_every=4",
    "trainer.log_every=2",
    "decode.extra_length=2",
)

# Libraries keep settings and caches in the home folder; a test must neither find a person's nor leave any.
_HOME = tempfile.TemporaryDirectory(prefix="xformer-home-")

Command = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, the package in reach, without anybody's dashboards."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("WANDB_")}
    return clean | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "HOME": _HOME.name} | changes


def words(*arguments: str) -> list[str]:
    """The command line of `xformer` with these arguments."""
    return [sys.executable, "-m", "xformer.cli", *arguments]


def run_in(folder: Path) -> Command:
    """A function that runs `xformer` in a folder and returns what came of it."""

    def run(*arguments: str, stdin: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words(*arguments), cwd=folder, env=environment(**changes), input=stdin,
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip

    return run


def status_of(run: Path) -> dict[str, Any]:
    """What the run's `status.json` says; nothing while there is none."""
    path = run / "status.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def wait_for(condition: Callable[[], bool], seconds: float = 150.0) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
