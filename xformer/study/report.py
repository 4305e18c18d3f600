"""From a folder of runs to a report in the terminal, and in files: page, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from xformer import streams
from xformer.config.schema import BASE
from xformer.errors import UserError
from xformer.files import write_atomic, written
from xformer.study.claims import built_in_claims, read_claims
from xformer.study.collect import collect
from xformer.study.findings import Findings, find
from xformer.study.latex import report_latex
from xformer.study.markdown import report_markdown
from xformer.study.measured import row_name
from xformer.study.run import Run
from xformer.study.sheet import report_csv, runs_csv
from xformer.study.table import Table, build_tables
from xformer.study.terminal import table_view, unplaced_view

PICTURE, CURVES = "report.svg", "curves.svg"


@dataclass(frozen=True)
class Report:
    """What a folder of runs comes to; `unplaced` are rows that could not start and fit no single table."""

    runs: tuple[Run, ...]
    tables: tuple[Table, ...]
    unplaced: tuple[Run, ...]
    verdict: tuple[str, ...]
    findings: tuple[Findings, ...]  # of each table


def write_report(
    folder: Path,
    out: Path | None = None,
    console: Console | None = None,
    claims: Path | None = None,
    records: Path | None = None,
    base: str | None = None,
) -> Report:
    """Print the report on a folder of runs; write it under `out` as page, Markdown, LaTeX, CSV and pictures.

    `claims` is a file of claims to judge instead of the built-in ones, `records` a folder of records that
    join the runs, such as the `done_dir` of their sweep, `base` the row that all others are compared with,
    `table3/base` if left out: an experiment, with its overrides after it. Raises UserError where a folder is
    missing or there are no runs, where `claims` is wrong, where no run is of the `base` asked for, or where
    `out` cannot be written.
    """
    report = build_report(folder, claims, records, base)
    console = console or streams.console()
    for table, findings in zip(report.tables, report.findings, strict=True):
        console.print(table_view(table, console.width, findings), Text())
    if report.unplaced:
        console.print(unplaced_view(report.unplaced), Text())
    for line in report.verdict:
        console.print(Text(line))
    if out is not None:
        written = _write(report, out)
        console.print(Text(f"Written: {', '.join(str(path) for path in written)}"))
        if not (out / PICTURE).is_file():
            console.print(Text(f"No {PICTURE}: no table has a finished base and another finished row."))
    return report


def build_report(
    folder: Path, claims: Path | None = None, records: Path | None = None, base: str | None = None
) -> Report:
    """Collect, sort and judge the runs of a folder. Raises UserError as `write_report` does."""
    declared = built_in_claims() if claims is None else read_claims(claims)
    runs = collect(folder)
    if records is not None:
        here = {(run.experiment, run.folder.name) for run in runs}
        runs += [run for run in collect(records) if (run.experiment, run.folder.name) not in here]
    if not runs:
        raise UserError(f"{folder}: holds no runs; `xformer train` makes one")
    tables, unplaced = build_tables(runs, base or BASE)
    rows = [row for table in tables for row in table.rows if row.runs]
    if base is not None and not any(row.is_base for row in rows):
        names = ", ".join(dict.fromkeys(row_name(row) for row in rows))
        raise UserError(f"--base {base}: no such row in {folder}; there are: {names}")
    findings = tuple(find(table, declared) for table in tables)
    return Report(tuple(runs), tables, unplaced, _verdict(tables), findings)


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


def _write(report: Report, out: Path) -> list[Path]:
    from xformer.study.curves_picture import curves_svg  # what the terminal does not need: matplotlib, Jinja2
    from xformer.study.picture import report_svg
    from xformer.study.web.page import report_html

    tables, findings = report.tables, report.findings
    files = {
        "report.html": report_html(report.runs, tables, report.unplaced, report.verdict, findings),
        "report.md": report_markdown(tables, report.unplaced, report.verdict, findings),
        "report.tex": report_latex(tables, findings),
        "report.csv": report_csv(tables, report.unplaced, findings),
        "runs.csv": runs_csv(report.runs),
    }
    pictures = {PICTURE: report_svg(tables, findings), CURVES: curves_svg(tables)}
    files |= {name: text for name, text in pictures.items() if text is not None}
    with written(out):
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_atomic(out / name, text)
        for name in pictures.keys() - files.keys():  # that of an earlier report would contradict the page
            (out / name).unlink(missing_ok=True)
    return [out / name for name in files]
