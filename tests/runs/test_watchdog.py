"""A process that hangs after a signal ends all the same; one that ends by itself is left alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xformer.runs.folder import RunFolder, Status
from xformer.runs.process import SECONDS_TO_STOP
from xformer.runs.reporter import Reporter
from xformer.runs.watchdog import SECONDS, SECONDS_ASKED
from xformer.runs.worker import _hangs

GUARDED = """
import signal, time
from xformer.runs.watchdog import guard
came = []
signal.signal(signal.SIGTERM, lambda *_: came.append(1))
words = lambda by_user: print("asked" if by_user else "last words", flush=True)
guard(words, 7, lambda: {asked}, seconds=0.3, seconds_asked=1.5)
print("ready", flush=True)
{then}
"""


HANGING = "import threading; threading.Event().wait(60)"


def start(then: str, *, asked: bool = False) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", GUARDED.format(then=then, asked=asked)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_process_that_hangs_after_a_signal_is_ended() -> None:
    process = start(HANGING)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=10)
    assert (process.returncode, out) == (7, "last words\n")


def test_one_that_ends_in_time_keeps_its_own_code() -> None:
    process = start("while not came: time.sleep(0.01)\nraise SystemExit(3)")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=10)
    assert (process.returncode, out) == (3, "")


def test_who_was_asked_to_stop_has_longer_and_says_so() -> None:
    process = start(HANGING, asked=True)
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    out, _ = process.communicate(timeout=10)
    assert (process.returncode, out) == (7, "asked\n")
    assert time.monotonic() - began > 1.2


def test_a_rank_ends_before_its_supervisor_would_kill_it_and_not_much() -> None:
    assert SECONDS < 25 <= SECONDS_ASKED < SECONDS_TO_STOP


@pytest.mark.parametrize(
    ("by_user", "state", "reason"),
    [(True, "interrupted", "asked to stop, its checkpoint"), (False, "failed", "another rank failed")],
)
def test_the_last_words_of_a_rank_say_what_happened(
    tmp_path: Path, by_user: bool, state: str, reason: str
) -> None:
    folder = RunFolder(tmp_path)
    folder.write_status(Status("running", "id", "row", "custom", 1))
    _hangs(Reporter(folder, first=True), by_user)
    written = folder.status()
    assert written is not None
    assert written.state == state
    assert (written.reason or "").startswith(reason)
