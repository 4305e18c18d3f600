"""From a folder of runs to a report in the terminal, in Markdown and in CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from xformer.errors import UserError
from xformer.files import write_atomic
from xformer.study.collect import collect
from xformer.study.markdown import report_markdown
from xformer.study.run import Run
from xformer.study.sheet import report_csv
from xformer.study.table import Table, build_tables
from xformer.study.terminal import table_view, unplaced_view


@dataclass(frozen=True)
class Report:
    """What a folder of runs comes to; `unplaced` are rows that could not start and fit no single table."""

    runs: tuple[Run, ...]
    tables: tuple[Table, ...]
    unplaced: tuple[Run, ...]
    verdict: tuple[str, ...]


def write_report(folder: Path, out: Path | None = None, console: Console | None = None) -> Report:
    """Print the report on a folder of runs, and write `report.md` and `report.csv` under `out`.

    Raises UserError where the folder is missing or holds no runs, or where `out` cannot be written.
    """
    report = build_report(folder)
    console = console or Console()
    for table in report.tables:
        console.print(table_view(table, console.width), Text())
    if report.unplaced:
        console.print(unplaced_view(report.unplaced), Text())
    for line in report.verdict:
        console.print(Text(line))
    if out is not None:
        _write(report, out)
        console.print(Text(f"Written: {out / 'report.md'}, {out / 'report.csv'}"))
    return report


def build_report(folder: Path) -> Report:
    """Collect and sort the runs of a folder. Raises UserError where there are none."""
    runs = collect(folder)
    if not runs:
        raise UserError(f"{folder}: holds no runs; `xformer train` makes one")
    tables, unplaced = build_tables(runs)
    return Report(tuple(runs), tables, unplaced, _verdict(tables))


def _verdict(tables: Sequence[Table]) -> tuple[str, ...]:
    """What may be concluded without statistics: next to nothing."""
    seeds = [len(row.finished) for table in tables for row in table.rows if row.finished]
    if not seeds:
        return ("No row is finished, so there is nothing to compare.",)
    noise = "differences smaller than the spread between seeds cannot be told from noise."
    if max(seeds) == 1:
        return (f"One seed a row: {noise}",)
    spread = "± is the standard deviation over the seeds of a row."
    return (spread, f"Rows with one seed: {noise}") if min(seeds) == 1 else (spread,)


def _write(report: Report, out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_atomic(out / "report.md", report_markdown(report.tables, report.unplaced, report.verdict))
        write_atomic(out / "report.csv", report_csv(report.tables, report.unplaced))
    except OSError as error:
        raise UserError(f"{out}: the report cannot be written there: {error.strerror}") from None
