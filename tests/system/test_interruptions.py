"""However a run is stopped, nothing is lost, nobody is left behind, and the same command goes on."""

from __future__ import annotations

import csv
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.system.commands import SMALL, Start, run_in, status_of, wait_for

LONG = (*SMALL, "trainer.updates=100000", "trainer.checkpoint_every=20", "trainer.validate_every=100000")


def status(folder: Path) -> dict[str, Any]:
    """The status of the one run there is, nothing while there is none."""
    runs = [run for run in folder.glob("runs/*/*") if not run.parts[-2].startswith(".")]
    return status_of(runs[0]) if runs else {}


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A zombie whose parent has not looked yet is gone as well.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 143)]
)
def test_a_signal_leaves_a_checkpoint_and_its_exit_code(
    start: Start, tmp_path: Path, number: int, code: int
) -> None:
    command = start("train", *LONG)
    wait_for(lambda: status(tmp_path).get("updates", 0) > 3)
    worker = status(tmp_path)["pid"]
    command.send_signal(number)
    began = time.monotonic()
    _, errors = command.communicate(timeout=60)
    assert time.monotonic() - began < 20
    assert command.returncode == code, errors
    assert "Traceback" not in errors
    assert status(tmp_path)["state"] == "interrupted"
    assert gone(worker)
    (run,) = tmp_path.glob("runs/custom/*")
    newest = max(path.name for path in (run / "checkpoints").iterdir())
    assert newest == f"update-{status(tmp_path)['updates']:08d}.ckpt"


def test_an_interrupted_run_goes_on_to_the_planned_update_with_each_row_once(
    start: Start, tmp_path: Path
) -> None:
    arguments = ("train", *SMALL, "trainer.updates=400", "trainer.validate_every=400")
    command = start(*arguments)
    wait_for(lambda: status(tmp_path).get("updates", 0) > 5)
    command.send_signal(signal.SIGINT)
    assert command.wait(timeout=60) == 130
    before = status(tmp_path)
    assert 5 < before["updates"] < 400
    ended = run_in(tmp_path)(*arguments)
    assert ended.returncode == 0, ended.stderr
    assert status(tmp_path)["updates"] == 400
    assert status(tmp_path)["seconds_spent"] > before["seconds_spent"]
    (run,) = tmp_path.glob("runs/custom/*")
    with (run / "metrics.csv").open() as file:
        assert [int(row["update"]) for row in csv.DictReader(file)] == list(range(2, 401, 2))


def test_a_request_to_end_is_heard_while_the_dev_set_is_translated(start: Start, tmp_path: Path) -> None:
    arguments = (
        "train", *SMALL, "trainer.updates=40", "trainer.validate_every=20", "data.valid_pairs=3000",
        "trainer.validation_sentences=0", "decode.extra_length=20",
    )  # fmt: skip
    command = start(*arguments)
    wait_for(lambda: status(tmp_path).get("phase") == "validating")
    command.send_signal(signal.SIGTERM)
    began = time.monotonic()
    _, errors = command.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert command.returncode == 143, errors
    assert status(tmp_path)["state"] == "interrupted"
    assert status(tmp_path)["updates"] == 20
    ended = run_in(tmp_path)(*arguments)
    assert ended.returncode == 0, ended.stderr
    (run,) = tmp_path.glob("runs/custom/*")
    with (run / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["update"]) for row in rows] == list(range(2, 41, 2))
    assert [row["update"] for row in rows if row["dev_bleu"]] == ["20", "40"]


def test_a_killed_worker_is_a_failure_with_its_reason_and_is_tried_again(
    start: Start, tmp_path: Path
) -> None:
    command = start("train", *LONG)
    wait_for(lambda: status(tmp_path).get("updates", 0) > 30)
    os.kill(status(tmp_path)["pid"], signal.SIGKILL)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 1
    assert "SIGKILL" in errors
    assert status(tmp_path)["state"] == "failed"
    assert "SIGKILL" in status(tmp_path)["reason"]
    again = start("train", *LONG)
    wait_for(lambda: status(tmp_path)["state"] == "running" and status(tmp_path)["updates"] > 30)
    again.send_signal(signal.SIGINT)
    assert again.wait(timeout=60) == 130


def test_a_killed_supervisor_takes_its_worker_along_and_the_folder_is_free(
    start: Start, tmp_path: Path
) -> None:
    command = start("train", *LONG)
    wait_for(lambda: status(tmp_path).get("updates", 0) > 3)
    worker = status(tmp_path)["pid"]
    command.kill()
    command.communicate()
    wait_for(lambda: gone(worker), seconds=30)
    assert status(tmp_path)["state"] == "interrupted"


def test_of_several_starts_at_once_one_runs_and_the_others_name_it(start: Start, tmp_path: Path) -> None:
    commands = [start("train", *LONG) for _ in range(4)]
    wait_for(lambda: sum(command.poll() is not None for command in commands) == 3)
    refused = [command for command in commands if command.poll() is not None]
    (running,) = set(commands) - set(refused)
    for command in refused:
        _, errors = command.communicate()
        assert command.returncode == 1
        assert "is being run by process" in errors
    wait_for(lambda: status(tmp_path).get("updates", 0) > 3)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 130
    assert len(list(tmp_path.glob("runs/custom/*"))) == 1
