"""What a run says while it trains: a bar where somebody watches, a line now and then where nobody does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xformer.runs import display
from xformer.runs.display import Lines, display_for
from xformer.runs.folder import Status


def training(updates: int) -> Status:
    run = Status(state="running", run_id="1a2b3c4d", row_hash="0", experiment="table3/base", seed=1)
    return replace(
        run,
        phase="training",
        updates=updates,
        updates_planned=1000,
        tokens_per_second=12_345.0,
        seconds_left=60.0,
    )


def test_two_looks_a_second_for_ten_minutes_leave_twenty_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(display.time, "monotonic", lambda: now)
    lines = Lines("table3/base seed 1")
    for look in range(1, 1201):
        now = look / 2
        lines.show(training(look // 2))
    written = capsys.readouterr().err.splitlines()
    assert len(written) == 20
    assert written[0] == "table3/base seed 1: training, 30 of 1,000 updates, 12,345 tokens/s, 60 s left"


def test_into_a_file_goes_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    shown = display_for("table3/base seed 1", alone=True)  # stderr is captured: no terminal
    for update in range(1000):
        shown.show(training(update))
    shown.close()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_goes_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = display_for("table3/base seed 1", alone=True)
    shown.show(training(500))
    shown.close()
    written = capsys.readouterr().err
    assert "table3/base seed 1:  50%" in written
    assert "12,345 tokens/s" in written


def test_beside_other_runs_a_bar_would_overwrite_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert isinstance(display_for("table3/base seed 1", alone=False), Lines)
