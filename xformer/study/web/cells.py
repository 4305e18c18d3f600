"""The tables of the page: the same columns as everywhere, with what sorting and the small bars need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from xformer.study.columns import (
    COST,
    DIFFERENCE,
    LETTER,
    NAME,
    PAPER,
    PARAMETERS,
    SIZES,
    STATE,
    Column,
    columns_of,
)
from xformer.study.comparison import Comparison
from xformer.study.findings import Findings
from xformer.study.measured import row_name
from xformer.study.table import Row
from xformer.study.text import plain
from xformer.study.web.charts import interval_bar

MEASURED = "measured"
_ORDER = (LETTER, NAME, STATE, MEASURED, PAPER, DIFFERENCE, PARAMETERS, COST)


@dataclass(frozen=True)
class Cell:
    """`order` sorts it (None: last, whichever way); `look` is a class of page.css."""

    text: str
    order: float | str | None
    look: str
    bar: Markup = Markup("")  # noqa: RUF009 - immutable


@dataclass(frozen=True)
class Line:
    """A row of the table; `anchor` is where the page tells more of it, if it was run."""

    cells: tuple[Cell, ...]
    anchor: str | None
    look: str


@dataclass(frozen=True)
class Grid:
    """Headings in two lines: groups with how many columns each has, and a title for every column."""

    title: str
    groups: tuple[tuple[str, int], ...]
    titles: tuple[str, ...]
    kinds: tuple[str, ...]  # how each column is sorted: by `words` or by `figures`
    lines: tuple[Line, ...]


def grid(
    title: str, rows: Sequence[Row], anchors: dict[str, str], scale: str, findings: Findings | None
) -> Grid:
    """A block of rows as a table."""
    columns = sorted(columns_of(rows, scale, findings), key=_place)
    groups = [(group, len(list(members))) for group, members in groupby(columns, lambda each: each.group)]
    bars = {f"Δ {each.metric.title}": each for each in findings.shown} if findings else {}
    return Grid(
        title,
        tuple((group if any(c.title for c in columns if c.group == group) else "", n) for group, n in groups),
        tuple(column.title or column.group for column in columns),
        tuple("words" if column.group in (NAME, STATE) else "figures" for column in columns),
        tuple(
            Line(
                tuple(_cell(column, row, number, bars.get(column.title)) for column in columns),
                anchors.get(row_name(row)),
                "" if row.finished else "unfinished",
            )
            for number, row in enumerate(rows)
        ),
    )


def _place(column: Column) -> int:
    """What one looks for first stands first, on a phone too; what the row is made of comes last."""
    if column.group in _ORDER:
        return _ORDER.index(column.group)
    return len(_ORDER) if column.group == SIZES else _ORDER.index(MEASURED)


def _cell(column: Column, row: Row, number: int, comparison: Comparison | None) -> Cell:
    text = plain(column.cell(row))
    if column.group == LETTER:
        return Cell(text, float(number), "letter")  # back to the paper's order
    if column.group == NAME:
        return Cell(text, text.lower(), "name")
    if column.group == STATE:
        return Cell(text, text, f"state {_standing(row)}")
    return Cell(text, column.number(row), "figure", _bar(row, comparison))


def _standing(row: Row) -> str:
    """How a row stands, in one word for its colour."""
    if not row.runs:
        return "missing"
    return "finished" if all(run.state == "finished" for run in row.runs) else "other"


def _bar(row: Row, comparison: Comparison | None) -> Markup:
    found = comparison.of(row) if comparison else None
    if found is None or comparison is None:
        return Markup("")
    return interval_bar(found.contrast.value, found.contrast.uncertainty.half(), comparison.reach or 1.0)
