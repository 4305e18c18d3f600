"""metrics.csv through kills and resumes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.refusals import at_most_refused
from xformer.errors import UserError
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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("update,tokens\n3,4\n", "line 2 is no row"),
        ("not a table\n", "does not name the columns"),
        (",".join(COLUMNS) + "\n" + "x" + "," * 9 + "\n", "line 2 is no row"),
        (",".join(COLUMNS) + "\n\n", "line 2 is no row"),
    ],
)
def test_a_file_that_somebody_wrote_into_is_refused_with_its_line(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    for read in (MetricsFile(path).last_update, lambda: MetricsFile(path).rewind(9)):
        with pytest.raises(UserError, match=rf"metrics\.csv: .*{told}"):
            read()
    assert path.read_text() == text


@settings(deadline=None, max_examples=100)
@given(content=st.binary(max_size=60), head=st.booleans())
def test_any_bytes_are_rows_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, head: bool
) -> None:
    path = tmp_path_factory.mktemp("any") / "metrics.csv"
    path.write_bytes((",".join(COLUMNS) + "\n").encode() * head + content)
    with at_most_refused(naming="metrics.csv"):
        MetricsFile(path).rewind(5)
        assert 0 <= MetricsFile(path).last_update() <= 5
