"""The report as Markdown: every column, and every foreign text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from xformer.study.columns import LETTER, NAME, STATE, columns_of
from xformer.study.findings import Findings
from xformer.study.run import Run
from xformer.study.table import Row, Table
from xformer.study.text import markdown
from xformer.study.verdicts import Verdict


def report_markdown(
    tables: Sequence[Table],
    unplaced: Sequence[Run],
    verdict: Iterable[str],
    findings: Sequence[Findings] = (),
) -> str:
    """The verdict, every table under its setting, and the rows that could not start.

    `findings` are those of each table, or none at all.
    """
    parts = ["# Report", "\n".join(f"- {markdown(line)}" for line in verdict)]
    parts += [
        table_markdown(table, found)
        for table, found in zip_longest(tables, findings)  # none at all, or one for each
    ]
    if unplaced:
        parts += ["## Could not start", _list(f"{run.name}: {run.reason}" for run in unplaced)]
    return "\n\n".join(parts) + "\n"


def table_markdown(table: Table, findings: Findings | None = None) -> str:
    """The setting, the paper's rows, all others, what follows for claims, and why rows are not finished."""
    scale = table.setting.scale or "unknown"
    parts = [
        f"## Scale {markdown(scale)}, data {markdown(table.setting.data or 'unknown')}",
        _list(f"{name}: {value}" for name, value in table.lines()),
    ]
    for title, rows in (("Table 3", table.paper_block), ("Other experiments", table.other_block)):
        if rows:
            parts += [f"### {title}", _grid(rows, scale, findings)]
    if findings and findings.notes:
        parts += ["### Statistics", _list(findings.notes)]
    if findings and findings.verdicts:
        parts += ["### Claims", _claims(findings.verdicts)]
    if table.remarks:
        parts += ["### Remarks", _list(table.remarks)]
    return "\n\n".join(parts)


def _grid(rows: Sequence[Row], scale: str, findings: Findings | None) -> str:
    columns = columns_of(rows, scale, findings)
    headings = [
        "<br>".join(markdown(part) for part in (column.group, column.title) if part) for column in columns
    ]
    rules = [":--" if column.group in (LETTER, NAME, STATE) else "--:" for column in columns]
    bodies = [[markdown(column.cell(row)) for column in columns] for row in rows]
    return _lines(headings, rules, *bodies)


def _claims(verdicts: Sequence[Verdict]) -> str:
    """One line a claim, those with a verdict first."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.outcome == "not run")
    bodies = [
        [
            verdict.outcome,
            markdown(verdict.claim.says),
            "<br>".join(markdown(each) for each in verdict.reasons),
            markdown(verdict.claim.source),
        ]
        for verdict in ordered
    ]
    return _lines(["verdict", "claim", "measured", "source"], [":--"] * 4, *bodies)


def _lines(*lines: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {markdown(line)}" for line in lines)
