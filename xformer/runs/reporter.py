"""What a worker says of itself while it works, and how it learns that it should stop."""

from __future__ import annotations

import os
import signal
import time
from types import FrameType
from typing import Any

from xformer.errors import Stopped
from xformer.runs import process
from xformer.runs.folder import RunFolder, Status
from xformer.runs.machine import alive


class Stop:
    """Remembers the signal that asks for a checkpoint and an end; notices a supervisor that has died, too."""

    def __init__(self) -> None:
        self._signal: int | None = None
        self._supervisor = int(os.environ.get(process.SUPERVISOR, 0))
        for number in process.STOPPING:
            signal.signal(number, self._handle)

    def __call__(self) -> int | None:
        """The signal's number, or None to go on."""
        if self._signal is None and self._supervisor and not alive(self._supervisor):
            self._signal = signal.SIGTERM
        return self._signal

    def check(self) -> None:
        """Raise Stopped if the work should end."""
        if self() is not None:
            raise Stopped

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._signal = number


class Reporter:
    """Keeps `status.json` up to date; ranks beyond the first keep silent."""

    def __init__(self, folder: RunFolder, first: bool) -> None:
        status = folder.status()
        if status is None:
            raise RuntimeError(
                f"{folder.status_file}: missing; a supervisor writes it before a worker starts"
            )
        self._folder, self._first = folder, first
        self._began, self._spent_before = time.monotonic(), status.seconds_spent
        self.status: Status = status
        self.write(pid=os.getpid(), phase="preparing")

    @property
    def seconds_spent(self) -> float:
        """Wall time at work on this run, over all its starts."""
        return self._spent_before + time.monotonic() - self._began

    def write(self, **changes: Any) -> None:
        """Write the status with these changes."""
        if self._first:
            self.status = self._folder.write_status(self.status, seconds_spent=self.seconds_spent, **changes)
