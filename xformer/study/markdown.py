"""The report as Markdown: every column, and every foreign text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xformer.study.columns import LETTER, NAME, STATE, columns_of
from xformer.study.run import Run
from xformer.study.table import Row, Table
from xformer.study.text import markdown


def report_markdown(tables: Sequence[Table], unplaced: Sequence[Run], verdict: Iterable[str]) -> str:
    """The verdict, every table under its setting, and the rows that could not start."""
    parts = ["# Report", "\n".join(f"- {markdown(line)}" for line in verdict)]
    parts += [table_markdown(table) for table in tables]
    if unplaced:
        parts += ["## Could not start", _list(f"{run.name}: {run.reason}" for run in unplaced)]
    return "\n\n".join(parts) + "\n"


def table_markdown(table: Table) -> str:
    """The setting, the paper's rows, all others, and why rows are not finished."""
    scale = table.setting.scale or "unknown"
    parts = [
        f"## Scale {markdown(scale)}, data {markdown(table.setting.data or 'unknown')}",
        _list(f"{name}: {value}" for name, value in table.setting.lines()),
    ]
    for title, rows in (("Table 3", table.paper_block), ("Other experiments", table.other_block)):
        if rows:
            parts += [f"### {title}", _grid(rows, scale)]
    if table.remarks:
        parts += ["### Remarks", _list(table.remarks)]
    return "\n\n".join(parts)


def _grid(rows: Sequence[Row], scale: str) -> str:
    columns = columns_of(rows, scale)
    headings = [
        "<br>".join(markdown(part) for part in (column.group, column.title) if part) for column in columns
    ]
    rules = [":--" if column.group in (LETTER, NAME, STATE) else "--:" for column in columns]
    bodies = [[markdown(column.cell(row)) for column in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rules, *bodies))


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {markdown(line)}" for line in lines)
