"""A process that hangs after a signal ends all the same; one that ends by itself is left alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

GUARDED = """
import signal, time
from xformer.runs.watchdog import guard
came = []
signal.signal(signal.SIGTERM, lambda *_: came.append(1))
guard(lambda: print("last words", flush=True), 7, seconds=0.3)
print("ready", flush=True)
{then}
"""


def start(then: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", GUARDED.format(then=then)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_process_that_hangs_after_a_signal_is_ended() -> None:
    process = start("import threading; threading.Event().wait(60)")
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
