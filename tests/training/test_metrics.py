"""metrics.csv through kills and resumes."""

from __future__ import annotations

from pathlib import Path

import pytest

from xformer.training.metrics import COLUMNS, MetricsFile, Row


def row(update: int, perplexity: float | None = None) -> Row:
    return Row(
        update=update,
        tokens=100 * update,
        epoch=update / 7,
        loss=1 / 3,
        nll=0.25,
        learning_rate=1e-3,
        gradient_norm=2.0,
        tokens_per_second=1234.5,
        dev_perplexity=perplexity,
        dev_bleu=perplexity,
    )


def file_with(path: Path, *updates: int) -> MetricsFile:
    metrics = MetricsFile(path)
    metrics.rewind(0)
    for update in updates:
        metrics.append(row(update))
    return metrics


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.csv"


def updates(path: Path) -> list[str]:
    return [line.split(",")[0] for line in path.read_text().splitlines()[1:]]


def test_the_columns_are_those_of_the_contract() -> None:
    assert ",".join(COLUMNS) == (
        "update,tokens,epoch,loss,nll,learning_rate,gradient_norm,tokens_per_second,dev_perplexity,dev_bleu"
    )


def test_rows_are_written_with_empty_cells_where_nothing_was_measured(path: Path) -> None:
    file_with(path, 5).append(row(10, 3.5))
    header, first, second = path.read_text().splitlines()
    assert header == ",".join(COLUMNS)
    assert first == "5,500,0.7142857143,0.3333333333,0.25,0.001,2,1234.5,,"
    assert second.endswith(",3.5,3.5")


def test_going_back_drops_what_lies_beyond_and_nothing_else(path: Path) -> None:
    metrics = file_with(path, 5, 10, 15)
    before = path.read_text().splitlines()
    metrics.rewind(12)
    assert path.read_text().splitlines() == before[:3]
    assert metrics.last_update() == 10


def test_a_line_torn_by_a_kill_is_dropped(path: Path) -> None:
    metrics = file_with(path, 5, 10)
    path.write_text(path.read_text() + "15,1500,2.1")
    assert metrics.last_update() == 10
    metrics.rewind(20)
    metrics.append(row(15))
    assert updates(path) == ["5", "10", "15"]


def test_a_file_that_is_not_there_or_torn_in_its_first_line_begins_with_the_columns(path: Path) -> None:
    for text in (None, "upda"):
        if text is not None:
            path.write_text(text)
        metrics = MetricsFile(path)
        assert metrics.last_update() == 0
        metrics.rewind(3)
        assert path.read_text() == ",".join(COLUMNS) + "\n"


def test_a_tracker_gets_numbers_only() -> None:
    assert set(row(5).numbers()) == set(COLUMNS) - {"update", "dev_perplexity", "dev_bleu"}
    assert row(5, 2.0).numbers()["dev_bleu"] == 2.0
