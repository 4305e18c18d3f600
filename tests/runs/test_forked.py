"""Workers forked from a process that has done the imports behave as started ones do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from xformer.runs.folder import RunFolder
from xformer.runs.forked import ADDRESS, ForkedWorker, ask_for_worker, nursery
from xformer.runs.machine import alive


@pytest.fixture(scope="module")
def serving() -> Iterator[None]:
    with nursery():
        yield


def fork(folder: Path, **environment: str) -> tuple[ForkedWorker | None, int]:
    """A worker for a folder without a `status.json`, which it complains of; and its lock's descriptor."""
    folder.mkdir()
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    with open(folder / "log.txt", "ab") as log:
        worker = ask_for_worker(folder, {**os.environ, **environment}, lock=lock, log=log.fileno())
    return worker, lock


def test_a_forked_worker_ends_with_its_own_code_and_its_words_are_in_the_log(
    serving: None, tmp_path: Path
) -> None:
    worker, _ = fork(tmp_path / "run")
    assert worker is not None
    assert worker.wait() == 1
    assert worker.poll() == 1
    assert "a supervisor writes it before a worker starts" in (tmp_path / "run" / "log.txt").read_text()
    assert not alive(worker.pid)


def test_workers_run_side_by_side_in_sessions_of_their_own(serving: None, tmp_path: Path) -> None:
    workers = [fork(tmp_path / str(number))[0] for number in range(3)]
    assert all(workers)
    assert len({worker.pid for worker in workers if worker}) == 3
    assert [worker.wait() for worker in workers if worker] == [1, 1, 1]


def test_a_killed_worker_is_reported_with_the_signal(serving: None, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    os.mkfifo(folder.status_file)  # nobody writes: the worker waits for ever
    lock = os.open(folder.path / ".lock", os.O_RDWR | os.O_CREAT)
    with open(folder.log(), "ab") as log:
        worker = ask_for_worker(folder.path, os.environ, lock=lock, log=log.fileno())
    assert worker is not None
    time.sleep(0.2)
    assert worker.poll() is None
    assert os.getsid(worker.pid) == worker.pid
    os.killpg(worker.pid, signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL


def test_without_a_nursery_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)
    assert fork(tmp_path / "none")[0] is None
    monkeypatch.setenv(ADDRESS, str(tmp_path / "nobody"))
    assert fork(tmp_path / "gone")[0] is None


def nurseries() -> list[str]:
    """The pids of those that this process has started, the newest last."""
    command = ["pgrep", "-P", str(os.getpid()), "-f", "xformer.runs.nursery"]
    return subprocess.run(command, capture_output=True, text=True).stdout.split()


def test_the_nursery_forks_with_a_single_thread(serving: None, tmp_path: Path) -> None:
    worker, _ = fork(tmp_path / "run")  # so that everything is imported
    assert worker is not None
    worker.wait()
    assert len(os.listdir(f"/proc/{nurseries()[-1]}/task")) == 1


def test_a_nursery_with_a_second_thread_forks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"
    (tmp_path / "sitecustomize.py").write_text(started)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with nursery():
        assert fork(tmp_path / "run")[0] is None


def test_the_nursery_ends_with_the_sweep() -> None:
    before = os.environ.get(ADDRESS)
    with nursery():
        address = os.environ[ADDRESS]
        listed = nurseries()
        assert listed
    assert os.environ.get(ADDRESS) == before
    assert not alive(int(listed[-1]))
    assert not Path(address).exists()
