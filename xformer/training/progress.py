"""What a run says of itself while it is under way: to whoever displays it, and to the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from xformer.training.ledger import Ledger
from xformer.training.metrics import Row

Phase = Literal["training", "validating"]

SECONDS_BETWEEN_REPORTS = 0.5

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    phase: Phase
    updates: int
    updates_planned: int
    epoch: int  # counted from 0
    loss: float  # smoothed, nats per target token, since the last row
    tokens_per_second: float  # real source and target tokens in time spent training
    seconds_left: float  # at the pace since this process began, validation and checkpoints included


class ProgressReporter:
    """Passes progress on, at most twice a second, and rows; writes a line to the log now and then."""

    def __init__(
        self,
        report: Callable[[Progress], None],
        track: Callable[[dict[str, float], int], None],
        *,
        updates_planned: int,
        flops_per_token: float,  # of training
    ) -> None:
        self._report, self._track = report, track
        self._planned, self._flops_per_token = updates_planned, flops_per_token
        self._began_at: float | None = None
        self._began_with = 0  # updates
        self._reported_at = self._logged_at = float("-inf")

    def begin(self, update: int) -> None:
        """Start the clock at an update from which this process goes on."""
        self._began_at, self._began_with = time.monotonic(), update

    def report(self, phase: Phase, update: int, epoch: int, ledger: Ledger) -> None:
        """Say how far the run is, unless that was said a moment ago."""
        now = time.monotonic()
        if now - self._reported_at < SECONDS_BETWEEN_REPORTS:
            return
        self._reported_at = now
        recent = ledger.interval if ledger.interval.tokens else ledger.total
        self._report(
            Progress(
                phase=phase,
                updates=update,
                updates_planned=self._planned,
                epoch=epoch,
                loss=recent.mean_loss,
                tokens_per_second=recent.tokens_per_second,
                seconds_left=self._seconds_left(update, now),
            )
        )

    def log(self, row: Row) -> None:
        """Give a row to the tracker; and write a line: always when the dev set was looked at, else seldom."""
        self._track(row.numbers() | {"flops": self._flops_per_token * row.tokens}, row.update)
        now = time.monotonic()
        looked = row.dev_perplexity is not None
        if not looked and now - self._logged_at < self._patience(now):
            return
        self._logged_at = now
        dev = f", dev perplexity {row.dev_perplexity:.2f}, dev BLEU {row.dev_bleu:.2f}" if looked else ""
        _log.info(
            "update %d of %d, epoch %.2f: loss %.3f, %.0f tokens/s%s",
            row.update, self._planned, row.epoch, row.loss, row.tokens_per_second, dev,
        )  # fmt: skip

    def _seconds_left(self, update: int, now: float) -> float:
        done = update - self._began_with
        if self._began_at is None or done <= 0:
            return 0.0
        return (now - self._began_at) / done * (self._planned - update)

    def _patience(self, now: float) -> float:
        """Seconds between lines: half a minute at first, longer in long runs, so that no log grows large."""
        return max(30.0, (now - (self._began_at or now)) / 60)
