"""What the person at the terminal sees of a run that is under way."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

from tqdm import tqdm

from xformer.runs.folder import Status

SECONDS_BETWEEN_LINES = 30.0
_IN_COMPANY = 120.0  # between lines of one run, where several share a terminal


class Display(Protocol):
    """Shows the progress of one run."""

    def show(self, status: Status) -> None: ...

    def close(self) -> None: ...


class Bar:
    """A bar with tokens a second and the time left, for a terminal."""

    def __init__(self, label: str) -> None:
        self._bar: tqdm[Any] | None = None
        self._label = label

    def show(self, status: Status) -> None:
        if self._bar is None:
            if not status.updates_planned:
                return
            total, done = status.updates_planned, status.updates
            self._bar = tqdm(total=total, initial=done, desc=self._label, unit=" updates")
        self._bar.n = status.updates
        notes = [] if status.phase == "training" else [status.phase]
        if status.loss is not None:
            notes.append(f"loss {status.loss:.2f}")
        if status.tokens_per_second:
            notes.append(f"{status.tokens_per_second:,.0f} tokens/s")
        self._bar.set_postfix_str(", ".join(notes), refresh=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class Lines:
    """A line now and then, for a file or a pipe."""

    def __init__(self, label: str, seconds: float = SECONDS_BETWEEN_LINES) -> None:
        self._label, self._seconds = label, seconds
        self._last = time.monotonic()

    def show(self, status: Status) -> None:
        if time.monotonic() - self._last < self._seconds or not status.updates_planned:
            return
        self._last = time.monotonic()
        parts = [f"{self._label}: {status.phase}, {status.updates:,} of {status.updates_planned:,} updates"]
        if status.tokens_per_second:
            parts.append(f"{status.tokens_per_second:,.0f} tokens/s")
        if status.seconds_left:
            parts.append(f"{status.seconds_left:,.0f} s left")
        print(", ".join(parts), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing stays open."""


class Silent:
    """Nothing, where another machine shows the run."""

    def show(self, status: Status) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing stays open."""


def display_for(label: str, *, alone: bool) -> Display:
    """A bar on a terminal, lines elsewhere, and fewer of them beside other runs."""
    if not alone:
        return Lines(label, _IN_COMPANY)
    return Bar(label) if sys.stderr.isatty() else Lines(label)
