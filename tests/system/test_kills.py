"""A run that is killed again and again, or finds the disk full, ends as the one that was left alone."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.system.commands import SMALL, Start, run_in, status_of, wait_for
from xformer.runs.forked import nursery
from xformer.training.checkpoints import last_checkpoints, load_weights

KILLS = 20
ARGUMENTS = (
    "train", *SMALL, "trainer.updates=3000", "trainer.checkpoint_every=10", "trainer.validate_every=1500",
    "trainer.log_every=50",
)  # fmt: skip


@pytest.fixture(scope="module")
def forking() -> Iterator[None]:
    """Workers of all commands here start at once."""
    with nursery():
        yield


@pytest.fixture(scope="module")
def unbroken(forking: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the same run, never disturbed."""
    folder = tmp_path_factory.mktemp("unbroken")
    ended = run_in(folder)(*ARGUMENTS)
    assert ended.returncode == 0, ended.stderr
    (run,) = folder.glob("runs/custom/*")
    return run


def assert_same(run: Path, other: Path) -> None:
    """The same weights bit for bit, the same translations, and each row of the metrics once."""
    pair = [load_weights(last_checkpoints(each / "checkpoints", 1)[0]) for each in (run, other)]
    assert pair[0].keys() == pair[1].keys()
    for name, tensor in pair[0].items():
        assert torch.equal(tensor, pair[1][name]), name
    assert (run / "hypotheses" / "test.txt").read_bytes() == (other / "hypotheses" / "test.txt").read_bytes()
    rows = []
    for each in (run, other):
        with (each / "metrics.csv").open() as file:
            rows.append(
                [{k: v for k, v in row.items() if k != "tokens_per_second"} for row in csv.DictReader(file)]
            )
    assert rows[0] == rows[1]
    assert len(rows[0]) == 60


def writing(run: Path) -> bool:
    """Whether a checkpoint is being written at this moment."""
    return any(run.glob("checkpoints/.update-*"))


def at_work(run: Path) -> bool:
    """Whether the worker has begun; its pid stands in the status then."""
    status = status_of(run)
    return status.get("state") == "running" and status["phase"] != "starting"


def kill(run: Path, command: subprocess.Popen[str], seconds: float, *, in_writing: bool) -> bool:
    """Kill the worker so long after its beginning, or in the next writing after that; whether it wrote."""

    def now() -> bool:
        return writing(run) or command.poll() is not None

    wait_for(lambda: at_work(run))
    time.sleep(seconds)
    if in_writing:
        wait_for(now, seconds=20)
    wrote = writing(run)
    os.kill(status_of(run)["pid"], signal.SIGKILL)
    return wrote


@pytest.mark.timeout(900)  # minutes on a machine that does other things too
def test_twenty_kills_change_nothing(unbroken: Path, start: Start, tmp_path: Path) -> None:
    moments = random.Random(7)
    run = tmp_path / "runs" / "custom" / unbroken.name
    written = 0
    for number in range(KILLS):
        command = start(*ARGUMENTS)
        written += kill(run, command, moments.uniform(0.0, 0.6), in_writing=number % 2 == 1)
        _, errors = command.communicate(timeout=60)
        assert command.returncode == 1, errors
        assert status_of(run)["state"] == "failed"
    assert written > 0
    ended = run_in(tmp_path)(*ARGUMENTS)
    assert ended.returncode == 0, ended.stderr
    assert_same(run, unbroken)


def fill(disk: Path) -> None:
    """Leave no byte free."""
    with (disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(1000))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=False)


def test_a_disk_that_fills_up_loses_nothing(
    unbroken: Path, start: Start, tmp_path: Path, small_disk: Path
) -> None:
    arguments = (*ARGUMENTS, f"runs_dir={small_disk}")
    command = start(*arguments)
    wait_for(lambda: any(small_disk.glob("custom/*/checkpoints/update-*")))
    (run,) = small_disk.glob("custom/*")
    wait_for(lambda: status_of(run)["updates"] > 200)
    with pytest.raises(OSError, match="No space"):
        fill(small_disk)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 1, errors
    assert "No space left on device" in errors
    assert "Traceback" not in errors
    (small_disk / "filler").unlink()
    ended = run_in(tmp_path)(*arguments)
    assert ended.returncode == 0, ended.stderr
    assert_same(run, unbroken)
