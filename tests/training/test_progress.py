"""Reports and log lines, neither too many nor too few."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from tests.training.test_metrics import row
from xformer.training import progress
from xformer.training.ledger import Ledger
from xformer.training.progress import Progress, ProgressReporter


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def reporter_of(
    updates: int,
    report: Callable[[Progress], None] = lambda _: None,
    track: Callable[[dict[str, float], int], None] = lambda values, update: None,
) -> ProgressReporter:
    return ProgressReporter(report, track, updates_planned=updates, flops_per_token=2.0)


def test_progress_is_reported_twice_a_second_at_most(clock: Clock) -> None:
    heard: list[Progress] = []
    reporter = reporter_of(100_000, heard.append)
    reporter.begin(0)
    for update in range(1, 1001):
        clock.now += 0.01
        reporter.report("training", update, 0, Ledger())
    assert 18 <= len(heard) <= 20


def test_the_time_left_counts_from_where_this_process_began(clock: Clock) -> None:
    heard: list[Progress] = []
    reporter = reporter_of(200, heard.append)
    reporter.begin(100)
    clock.now += 30
    reporter.report("training", 110, 3, Ledger())
    assert heard[0].seconds_left == pytest.approx(270)
    assert (heard[0].updates, heard[0].updates_planned, heard[0].epoch) == (110, 200, 3)


def test_lines_are_sparse_but_every_look_at_the_dev_set_has_one(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="xformer")
    reporter = reporter_of(1000)
    reporter.begin(0)
    for update in range(1, 101):
        clock.now += 1
        reporter.log(row(update, 4.5 if update == 50 else None))
    lines = [record.getMessage() for record in caplog.records]
    assert [int(line.split()[1]) for line in lines] == [1, 31, 50, 80]
    assert "dev perplexity 4.50, dev BLEU 4.50" in lines[2]


def test_the_log_of_a_run_of_days_stays_small(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="xformer")
    reporter = reporter_of(100_000)
    reporter.begin(0)
    for update in range(1, 100_001, 10):
        clock.now += 26
        reporter.log(row(update))
    assert sum(len(record.getMessage()) for record in caplog.records) < 100_000


def test_a_tracker_gets_every_row_and_what_it_cost(clock: Clock) -> None:
    heard: dict[int, dict[str, float]] = {}
    reporter = reporter_of(1000, track=lambda values, update: heard.update({update: values}))
    reporter.begin(0)
    for update in (1, 2):
        reporter.log(row(update))
    assert list(heard) == [1, 2]
    assert heard[2] == row(2).numbers() | {"flops": 2.0 * row(2).tokens}
