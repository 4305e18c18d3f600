"""The report as one self-contained page: `report.html`, which asks no network and no library for anything.

Jinja2 escapes every value that the template is given; what is markup already was built by markupsafe, which
escapes too. The page's own policy lets no script and no style run but the two that it was written with, known
by their hashes, and lets nothing be fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from xformer.pages import filled
from xformer.study.differing import config_differences
from xformer.study.findings import Findings
from xformer.study.measured import row_name
from xformer.study.run import Run
from xformer.study.sentences import Pair
from xformer.study.shell_line import command_of
from xformer.study.table import Row, Table
from xformer.study.text import plain
from xformer.study.translations import side_by_side
from xformer.study.verdicts import Verdict
from xformer.study.web.cells import Grid, grid
from xformer.study.web.gallery import Gallery
from xformer.study.web.picker import Picker, picker
from xformer.study.web.plots import galleries
from xformer.wording import counted

SENTENCES = 8  # of each pair of rows
_PAIRS = 60  # of rows in one table


@dataclass(frozen=True)
class _RunView:
    about: str
    command: str


@dataclass(frozen=True)
class _RowView:
    """All that is known of a row beyond its figures."""

    anchor: str
    label: str
    state: str
    facts: tuple[tuple[str, str], ...]
    differences: tuple[tuple[str, str, str], ...]  # key, the base's value, its own
    runs: tuple[_RunView, ...]


@dataclass(frozen=True)
class _TableView:
    id: str
    title: str
    setting: Sequence[tuple[str, str]]
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]
    agreement: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    remarks: tuple[str, ...]
    galleries: tuple[Gallery, ...]
    picker: Picker | None
    translations: tuple[tuple[str, tuple[Pair, ...]], ...]
    rows: tuple[_RowView, ...]


def report_html(
    runs: Sequence[Run],
    tables: Sequence[Table],
    unplaced: Sequence[Run],
    verdict: Sequence[str],
    findings: Sequence[Findings],
) -> str:
    """The page on all tables; `findings` are those of each."""
    return filled(
        "xformer.study.web",
        finalize=_one_line,
        runs=counted(len(runs), "run"),
        verdict=verdict,
        tables=[
            _table(number, table, found)
            for number, (table, found) in enumerate(zip(tables, findings, strict=True), 1)
        ],
        unplaced=[f"{run.name}: {run.reason}" for run in unplaced],
    )


def _table(number: int, table: Table, findings: Findings) -> _TableView:
    scale, data = table.setting.scale or "unknown", table.setting.data or "unknown"
    run = [row for row in table.rows if row.runs]
    anchors = {row_name(row): f"setting-{number}-row-{place}" for place, row in enumerate(run, 1)}
    base = next((row for row in table.rows if row.is_base), None)
    blocks = (("Table 3", table.paper_block), ("Other experiments", table.other_block))
    return _TableView(
        id=f"setting-{number}",
        title=f"Scale {scale}, data {data}",
        setting=table.lines(),
        grids=tuple(grid(title, rows, anchors, scale, findings) for title, rows in blocks if rows),
        notes=tuple(note for note in findings.notes if note not in findings.agreements),
        agreement=findings.agreements,
        verdicts=(*findings.judged, *findings.not_run),
        remarks=table.remarks,
        galleries=galleries(table),
        picker=picker(run),
        translations=tuple(_translations(table)),
        rows=tuple(_row(row, anchors[row_name(row)], base) for row in run),
    )


def _translations(table: Table) -> Iterator[tuple[str, tuple[Pair, ...]]]:
    base = next((row for row in table.rows if row.is_base), None)
    if base is None:
        return
    others = [row for row in table.rows if row is not base][:_PAIRS]
    for row, pairs in side_by_side(base, others, SENTENCES):
        yield row.label, pairs


def _row(row: Row, anchor: str, base: Row | None) -> _RowView:
    changes = row.config.changes if row.config else ()
    facts = {
        "experiment": row.experiment,
        "declares to change": ", ".join(changes),
        "overrides": " ".join(row.overrides),
        "row hash": row.row_hash or "",
        "versions": _each(row, "versions"),
        "commit": _each(row, "commit"),
        "device": _each(row, "device"),
    }
    return _RowView(
        anchor,
        row.label,
        row.state,
        tuple((name, value) for name, value in facts.items() if value),
        _differences(base, row) if base and row is not base else (),
        tuple(_run(run) for run in row.runs),
    )


def _differences(base: Row, row: Row) -> tuple[tuple[str, str, str], ...]:
    folders = [next((run.folder for run in each.runs if run.config), None) for each in (base, row)]
    one, other = folders
    return config_differences(one, other) if one and other else ()


def _run(run: Run) -> _RunView:
    about = f"Seed {run.seed}: {run.state}" if run.seed is not None else run.state
    return _RunView(about + (f", {run.reason}" if run.reason else ""), command_of(run))


def _each(row: Row, name: str) -> str:
    """What the results say, once where all say the same."""
    said = (getattr(run.result, name) for run in row.runs if run.result)
    return "; ".join(dict.fromkeys(each for each in said if each))


def _one_line(value: Any) -> Any:
    """Foreign text without what would turn the page's writing around; markup as it is."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
