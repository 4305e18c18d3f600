"""The number of processes that share a run changes its numbers by rounding alone."""

from __future__ import annotations

import csv
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.commands import SMALL, Command, environment, run_in, status_of, wait_for, words

DROPOUT = (
    *SMALL,
    "trainer.updates=50",
    "trainer.validate_every=50",
    "trainer.log_every=1",
    "model.dropout=0.3",
)
CPU = "trainer.accelerator=cpu"
MICRO = ("batch.tokens_per_update=500", "batch.tokens_per_device=130")  # several to an update


def losses(run: Path) -> list[float]:
    with (run / "metrics.csv").open() as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    ended = run_in(folder)("train", *DROPOUT, *MICRO)
    assert ended.returncode == 0, ended.stderr
    (run,) = folder.glob("runs/custom/*")
    return run


def assert_same(run: Path, other: Path) -> None:
    """The same series of losses but for rounding, and as many sentences scored."""
    assert run.name == other.name
    one, two = losses(run), losses(other)
    assert len(one) == len(two) == 50
    assert max(abs(a - b) for a, b in zip(one, two, strict=True)) < 1e-4
    first, second = (json.loads((each / "result.json").read_text()) for each in (run, other))
    for split in ("dev", "test"):
        assert first[split]["sentences"] == second[split]["sentences"]
        assert first[split]["perplexity"] == pytest.approx(second[split]["perplexity"], rel=1e-4)


def test_two_ranks_have_the_losses_of_one(alone: Path, xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", *DROPOUT, *MICRO, "trainer.devices=2", CPU)
    assert ended.returncode == 0, ended.stderr
    (run,) = tmp_path.glob("runs/custom/*")
    assert_same(alone, run)


def test_two_machines_have_the_losses_of_one(alone: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    commands = []
    for number in (1, 0):  # whichever comes first
        told = environment(NODE_RANK=str(number), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        arguments = words("train", *DROPOUT, *MICRO, "trainer.num_nodes=2", CPU)
        commands.append(
            subprocess.Popen(arguments, cwd=tmp_path, env=told, stderr=subprocess.PIPE, text=True)
        )
        time.sleep(0.5)
    for command in commands:
        _, errors = command.communicate(timeout=120)
        assert command.returncode == 0, errors
    (run,) = tmp_path.glob("runs/custom/*")
    assert_same(alone, run)
    assert (run / "log-node1.txt").exists()


def second_rank(run: Path) -> int:
    """The process that is the second of the two that share the run."""
    ranks = subprocess.run(
        ["pgrep", "-f", f"xformer.runs.worker .*{run.name}"], capture_output=True, text=True
    )
    pids = [int(pid) for pid in ranks.stdout.split()]
    (found,) = [pid for pid in pids if b"RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes()]
    return found


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run on two ranks that has begun to train, and its folder."""
    arguments = words(
        "train", *DROPOUT, "trainer.updates=100000", "trainer.devices=2", "trainer.rank_timeout=4", CPU
    )
    command = subprocess.Popen(arguments, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)

    def run() -> Path:
        return next(tmp_path.glob("runs/custom/*"), tmp_path)

    wait_for(lambda: status_of(run()).get("updates", 0) > 5)
    yield command, run()
    command.kill()


# For the one that hangs: the others' patience, then torchrun's own with what does not answer, 30 s.
@pytest.mark.parametrize(("what", "seconds"), [(signal.SIGKILL, 30), (signal.SIGSTOP, 4 + 30 + 15)])
def test_a_rank_that_dies_or_hangs_ends_its_run_with_all_its_processes(
    endless: tuple[subprocess.Popen[str], Path], what: signal.Signals, seconds: float
) -> None:
    command, run = endless
    began = time.monotonic()
    os.kill(second_rank(run), what)
    _, errors = command.communicate(timeout=90)
    assert command.returncode == 1, errors
    assert time.monotonic() - began < seconds
    assert status_of(run)["state"] == "failed"
    left = subprocess.run(["pgrep", "-f", run.name], capture_output=True, text=True)
    assert left.stdout == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGUSR1, 143)])
def test_ranks_that_are_asked_to_stop_write_a_checkpoint_and_end(
    endless: tuple[subprocess.Popen[str], Path], number: signal.Signals, code: int
) -> None:
    command, run = endless
    command.send_signal(number)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == code, errors
    status = status_of(run)
    assert status["state"] == "interrupted"
    assert status["reason"] == f"stopped after update {status['updates']}"
    assert (run / "checkpoints" / f"update-{status['updates']:08d}.ckpt").exists()
    left = subprocess.run(["pgrep", "-f", run.name], capture_output=True, text=True)
    assert left.stdout == ""
