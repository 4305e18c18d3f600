"""What a sweep needs beside Hydra's launcher: a nursery on this machine, an eye on a cluster's queue."""

from __future__ import annotations

import contextlib
import os
import signal

from xformer.runs.forked import nursery
from xformer.runs.process import REQUEUING

# Lines that look alike come from different runs; nothing is reported to anybody.
_RAY = {"RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}


def engine(launcher: str) -> contextlib.AbstractContextManager[None]:
    """What to keep up while the launcher with this class path runs a sweep.

    Raises UserError where the launcher's cluster is not there.
    """
    if launcher.endswith("SlurmLauncher"):  # its jobs have machines, limits and starts of their own
        from xformer.runs.slurm import attended

        return attended()
    if launcher.endswith("RayLauncher"):
        for name, value in _RAY.items():
            os.environ.setdefault(name, value)
    return nursery()


def hand_on(number: int | None) -> None:
    """Let whoever started this job know that a cluster's signal stopped it: submitit then requeues the job.

    The run has its checkpoint by now. Where nobody listens nothing happens.
    """
    if number not in REQUEUING or not callable(signal.getsignal(number)):
        return
    # Requeuing a job ends it by SIGTERM, the command that asks for it included, unless that one ignores it.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.raise_signal(number)
