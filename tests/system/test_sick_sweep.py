"""Whatever one job of a sweep does, the others never hear of it, and the summary names each."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import pytest

from tests.system.commands import REPOSITORY, SMALL, run_in, status_of
from tests.system.test_tracking import exit_code

JOBS = {
    "rank": "trainer: {devices: 2, accelerator: cpu}",
    "data": "data: {dir: nowhere, source: a, target: b}",
    "exit": "",
    "diverge": "optim: {learning_rate_multiplier: 1.0e35}",
    "kill": "",
    "well": "",
}
SABOTEUR = Path(__file__).parent / "saboteur"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The six jobs, one after the other: their folder, and what the command said."""
    folder = tmp_path_factory.mktemp("sick")
    for name, text in JOBS.items():
        path = folder / "own" / "experiments" / "sick" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "files" if name == "data" else "small"
        path.write_text(f"# @package _global_\ndefaults: [{{override /data: {data}}}]\n{text}\n")
    names = ",".join(f"sick/{name}" for name in JOBS)
    sizes = [word for word in SMALL if not word.startswith(("data.", "tracking"))]
    # The built-in language in small, as a choice of the user's own.
    grammar = folder / "own" / "data" / "small.yaml"
    grammar.parent.mkdir()
    grammar.write_text(
        "kind: grammar\nseed: 1\nmax_length: 100\n"
        "train_pairs: 300\nvalid_pairs: 12\ntest_pairs: 15\nlong_pairs: 5\n"
    )
    ended = run_in(folder)(
        "train", "-m", "--config-dir", "own", f"experiments={names}", *sizes,
        PYTHONPATH=f"{SABOTEUR}:{REPOSITORY}", WANDB_SILENT="true",
    )  # fmt: skip
    return folder, ended


def test_the_summary_names_every_job_that_did_not_finish(
    sweep: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, ended = sweep
    assert ended.returncode == 1, ended.stderr
    assert "6 runs: 3 failed, 1 wrong, 1 diverged, 1 finished" in ended.stderr
    summary = ended.stderr.partition("6 runs:")[2]
    for name in JOBS.keys() - {"well"}:
        assert f"sick/{name}" in summary
    assert "SIGKILL" in summary
    assert "nowhere" in summary
    assert summary.count("log.txt") == 4
    assert "Traceback" not in ended.stderr


def test_the_last_job_finishes_and_no_process_is_left(
    sweep: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = sweep
    (run,) = (folder / "runs" / "sick" / "well").iterdir()
    assert status_of(run)["state"] == "finished"
    left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True)
    assert left.stdout == ""


def test_a_failing_rank_ends_its_run_soon(
    sweep: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = sweep
    (run,) = (folder / "runs" / "sick" / "rank").iterdir()
    status = status_of(run)
    assert (status["state"], status["updates"]) == ("failed", 0)
    (line,) = (
        line for line in (run / "log.txt").read_text().splitlines() if "closing signal SIGTERM" in line
    )
    failed = datetime.datetime.strptime(line.split()[1], "%H:%M:%S.%f").time()
    ended = datetime.datetime.fromtimestamp(status["ended"])
    assert (ended - datetime.datetime.combine(ended.date(), failed)).total_seconds() < 30


@pytest.mark.parametrize(
    ("name", "state", "code"),
    [("exit", "failed", 1), ("diverge", "diverged", 0), ("well", "finished", 0)],
)
def test_each_tracker_is_closed_with_the_state_of_its_run(
    sweep: tuple[Path, subprocess.CompletedProcess[str]], name: str, state: str, code: int
) -> None:
    folder, _ = sweep
    (run,) = (folder / "runs" / "sick" / name).iterdir()
    assert status_of(run)["state"] == state
    (file,) = run.glob("tracking/wandb/offline-run-*/run-*.wandb")
    assert file.stem == f"run-{status_of(run)['run_id']}"
    assert exit_code(file) == code
