"""Long preparations say how far they are."""

from __future__ import annotations

import pytest

from xformer.data.progress import shown


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, as the test sets them."""
    now = [0.0]
    monkeypatch.setattr("xformer.data.progress.time.monotonic", lambda: now[0])
    return now


def test_a_pipe_gets_a_line_every_half_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    for item in shown(range(100_000), "encode", 100_000, "pairs"):
        clock[0] += 2**-10
        seen.append(item)
    assert seen == list(range(100_000))
    said = capsys.readouterr().err.splitlines()
    assert said == [f"encode: {done},000 of 100,000 pairs" for done in (31, 62, 93)]


def test_what_is_soon_done_says_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    assert list(shown("abc", "encode", 3, "pairs")) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(shown("abc", "learn BPE", 3, "lines")) == ["a", "b", "c"]
    assert "learn BPE" in capsys.readouterr().err
