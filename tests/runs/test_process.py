"""A worker is watched to its end, and nothing of it outlives that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xformer.runs import process
from xformer.runs.display import Lines, Silent, display_for
from xformer.runs.folder import BusyError, RunFolder, Status, note_stop
from xformer.runs.machine import alive


def watch(folder: Path, code: str, **settings: int) -> process.Ended:
    run = RunFolder(folder)
    with run.claim() as lock:
        command = [sys.executable, "-c", code]
        return process.watch(
            process.plainly(command), run, lock=lock, threads=settings.get("threads", 0), display=Silent()
        )


def test_what_the_worker_prints_stands_in_the_log_after_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("before\n")
    ended = watch(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (ended.code, ended.signal) == (7, None)
    assert ended.what == "the worker ended with exit code 7"
    assert (tmp_path / "log.txt").read_text() == "before\nout\nerr\n"


def test_a_worker_that_is_killed_is_told_from_one_that_fails(tmp_path: Path) -> None:
    ended = watch(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert ended.what == "the worker was killed by SIGKILL; perhaps the machine ran out of memory"


def test_a_worker_knows_its_supervisor_and_its_threads(tmp_path: Path) -> None:
    code = f"import os; print(os.environ['{process.SUPERVISOR}'], os.environ['OMP_NUM_THREADS'])"
    watch(tmp_path, code, threads=3)
    assert (tmp_path / "log.txt").read_text() == f"{os.getpid()} 3\n"


def test_ranks_of_another_run_in_the_environment_are_not_this_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.setenv(key, "1")
    watch(tmp_path, "import os; print(*(key for key in os.environ if 'RANK' in key or 'WORLD' in key))")
    assert (tmp_path / "log.txt").read_text() == "\n"


def test_children_of_the_worker_are_gone_when_it_is(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys; "
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"
    )
    watch(tmp_path, code)
    child = int((tmp_path / "log.txt").read_text())
    deadline = time.monotonic() + 5
    while alive(child) and "Z" not in Path(f"/proc/{child}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_signal_is_passed_on_and_a_deaf_worker_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SECONDS_TO_STOP", 0.5)
    code = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"os.kill({os.getpid()}, signal.SIGTERM); time.sleep(600)"
    )
    ended = watch(tmp_path, code)
    assert ended.code == -signal.SIGKILL
    assert ended.signal == signal.SIGTERM
    assert "asked to stop" in ended.what
    assert "memory" not in ended.what
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert RunFolder(tmp_path).asked_to_stop()


def test_the_worker_learns_from_the_folder_whether_it_is_asked_to_stop(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time; from pathlib import Path; from xformer.runs.folder import RunFolder; "
        f"run = RunFolder(Path({str(tmp_path)!r})); before = run.asked_to_stop(); "
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3 if run.asked_to_stop() and not before else 4)); "
        f"os.kill({os.getpid()}, signal.SIGTERM); time.sleep(600)"
    )
    for _ in range(2):  # the second start is not told of what the first was asked
        assert watch(tmp_path, code).code == 3
    with RunFolder(tmp_path).claim() as lock:
        note_stop(lock)
        with pytest.raises(BusyError, match="which was asked to stop; wait"), RunFolder(tmp_path).claim():
            pass


def test_a_process_that_is_gone_is_not_alive() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not alive(ended.pid)
    assert alive(os.getpid())


@pytest.mark.parametrize("alone", [True, False])
def test_every_run_says_in_a_file_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    """Beside others less often; a row that trains for hours is not silent for hours."""
    clock = [0.0]
    monkeypatch.setattr("xformer.runs.display.time.monotonic", lambda: clock[0])
    display = display_for("e seed 1", alone=alone)
    status = Status("running", "r", "w", "e", 1, phase="training", updates=5, updates_planned=10)
    for second in range(600):
        clock[0] = float(second)
        display.show(status)
    said = capsys.readouterr().err.splitlines()
    assert said == ["e seed 1: training, 5 of 10 updates"] * (19 if alone else 4)


def test_lines_are_sparse_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    status = Status("running", "r", "w", "e", 1, phase="training", updates=5, updates_planned=10,
                    tokens_per_second=1234.5, seconds_left=60.0)  # fmt: skip
    Lines("e seed 1").show(status)
    assert capsys.readouterr().err == ""
    Lines("e seed 1", seconds=0.0).show(status)
    expected = "e seed 1: training, 5 of 10 updates, 1,234 tokens/s, 60 s left\n"
    assert capsys.readouterr().err == expected
