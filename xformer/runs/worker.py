"""The process that carries out one run: `python -m xformer.runs.worker RUN`.

Everything it needs stands in the run folder, everything it finds out goes there (docs/design.md, 4 and 6).
With several devices there is one such process a rank; the first writes.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from pathlib import Path

from xformer.errors import UserError
from xformer.runs.folder import RunFolder
from xformer.runs.machine import keep_memory
from xformer.runs.outcome import FAILED, FINE, INTERRUPTED, PREEMPTED, WRONG
from xformer.runs.reporter import Reporter, Stop
from xformer.runs.watchdog import SECONDS_ASKED, guard

log = logging.getLogger("xformer")


def work(folder: RunFolder) -> int:
    """Carry out the run in `folder`; returns the exit code and leaves the state in `status.json`."""
    stop = Stop()  # before the slow imports, so that a signal during them is not lost
    keep_memory()
    first = int(os.environ.get("RANK", 0)) == 0
    logging.basicConfig(
        level=logging.INFO if first else logging.WARNING,
        stream=sys.stdout,
        format="%(asctime)s.%(msecs)03d %(message)s",
        datefmt="%Y-%m-%d %H:%M:%S",
    )
    reporter = Reporter(folder, first)
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        node = int(os.environ.get("GROUP_RANK", 0))
        guard(lambda by_user: _hangs(reporter, by_user), FAILED, lambda: folder.asked_to_stop(node))
    try:
        from xformer.runs.carry_out import carry_out
        from xformer.runs.trackers import tracking

        with tracking(folder, reporter.status, first=first) as tracker:
            state = carry_out(folder, reporter, stop, tracker, first=first)
            tracker.state = state
    except UserError as error:
        log.error("%s", error)
        reporter.write(state="failed", reason=str(error))
        return WRONG
    except Exception as error:
        log.error("%s", traceback.format_exc())
        reporter.write(state="failed", reason=f"{type(error).__name__}: {error}".splitlines()[0])
        return FAILED
    if state == "interrupted":
        return INTERRUPTED if stop() == signal.SIGINT else PREEMPTED
    return FINE


def _hangs(reporter: Reporter, by_user: bool) -> None:
    """The last words of a rank that was to end and did not."""
    if by_user:
        reason = f"asked to stop, its checkpoint was not written in {SECONDS_ASKED:.0f} s; see the log"
        reporter.write(state="interrupted", reason=reason)
    else:
        reporter.write(state="failed", reason="another rank failed; see the log")


if __name__ == "__main__":
    sys.exit(work(RunFolder(Path(sys.argv[1]))))
