"""A table for the terminal: as many columns as there is room for, the essential ones always.

The columns of a group stand inside one column of the rich table, so that they share a heading and what
the paper printed is fenced off from what was measured.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table as RichTable
from rich.text import Text

from xformer.study.columns import LETTER, NAME, STATE, Column, columns_of
from xformer.study.findings import Findings
from xformer.study.paper import paper_rows
from xformer.study.run import Run
from xformer.study.table import Row, Table
from xformer.study.text import plain

_GAP = "  "
_FENCE = 3  # a space, a line, a space
_VERDICTS = {"supported": "green", "contradicted": "red", "within noise": "yellow"}
_WORDS = (LETTER, NAME, STATE)
_NARROW = {NAME: 22, STATE: 12}  # the two that may be wrapped, and how far
_NARROWEST = {NAME: 10, STATE: 11}  # where even the essential does not fit


def table_view(table: Table, width: int, findings: Findings | None = None) -> RenderableType:
    """The setting, the paper's rows, all others, what follows, and why rows are not finished.

    `width` is in characters.
    """
    scale, data = table.setting.scale or "unknown", table.setting.data or "unknown"
    heading = Text(plain(f"scale {scale}, data {data}"), style="bold")
    parts: list[RenderableType] = [Rule(heading, align="left", style="")]
    parts += [Text(f"{name}: {plain(value)}") for name, value in table.lines()]
    for title, rows in (("Table 3", table.paper_block), ("Other experiments", table.other_block)):
        if rows:
            parts += [Text(f"\n{title}", style="bold"), *_block(rows, scale, width, findings)]
    if findings and findings.notes:
        parts += [Text("\nStatistics", style="bold"), *_listed(findings.notes)]
    if findings and findings.judged:
        parts += [Text("\nClaims", style="bold"), *_claims(findings)]
    if table.remarks:
        parts += [Text("\nRemarks", style="bold"), *_listed(table.remarks)]
    return Group(*parts)


def unplaced_view(runs: Sequence[Run]) -> RenderableType:
    """Rows that could not start and that belong to no single table."""
    return Group(Text("Could not start", style="bold"), *_listed(f"{run.name}: {run.reason}" for run in runs))


def _listed(lines: Iterable[str]) -> Iterator[RenderableType]:
    return (Padding(Text(plain(line)), (0, 0, 0, 2)) for line in lines)


def _claims(findings: Findings) -> Iterator[RenderableType]:
    """A line a claim that could be judged, what it rests on below it, and the names of the others."""
    for verdict in findings.judged:
        style = _VERDICTS.get(verdict.outcome, "")
        line = Text.assemble((f"{verdict.outcome}  ", style), plain(verdict.claim.says))
        yield Padding(line, (0, 0, 0, 2))
        yield from (Padding(Text(plain(reason), style="dim"), (0, 0, 0, 6)) for reason in verdict.reasons)
    if findings.not_run:
        names = ", ".join(verdict.claim.name for verdict in findings.not_run)
        yield Padding(Text(f"not run: {names} (report.md says what is missing)"), (0, 0, 0, 2))


def _block(
    rows: Sequence[Row], scale: str, width: int, findings: Findings | None
) -> Iterator[RenderableType]:
    columns = columns_of(rows, scale, findings)
    layout = _Layout(rows, columns, width)
    notes: list[str] = []
    if layout.folded:
        names, notes = _numbered(rows)
        layout = _Layout(rows, columns, width, names)
    yield layout.grid()
    yield from _listed(notes)
    if hidden := [column.title or column.group for column in columns if column not in layout.shown]:
        yield Text(f"no room here for {', '.join(hidden)}; report.md has them (--out)", style="dim")


def _numbered(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Short names of all rows, with a number where overrides are told below the table instead."""
    names: list[str] = []
    notes: list[str] = []
    for row in rows:
        name, _, rest = row.label.partition(" ")
        if rest and cell_len(plain(row.label)) > _NARROW[NAME]:
            notes.append(f"({len(notes) + 1}) {rest}")
            name = f"{name} ({len(notes)})"
        else:
            name = row.label
        names.append(name)
    return names, notes


class _Layout:
    """Which columns are shown in a given width, and how they are laid out in groups."""

    def __init__(
        self, rows: Sequence[Row], columns: Sequence[Column], width: int, names: Sequence[str] = ()
    ) -> None:
        """`names` are what rows are called where not by their labels."""
        self.rows = rows
        self.cells = {column: [plain(column.cell(row)) for row in rows] for column in columns}
        if names:
            self.cells |= {column: list(map(plain, names)) for column in columns if column.group == NAME}
        self.widths = {column: max(map(cell_len, (column.title, *self.cells[column]))) for column in columns}
        self.shown = [column for column in columns if column.rank == 0]
        self.tight = False
        # Headings are broken rather than that the difference from the base is left out.
        self.tight = self._least_total([column for column in columns if column.rank <= 1]) > width
        for rank in sorted({column.rank for column in columns} - {0}):
            wider = [column for column in columns if column.rank <= rank]
            if self._least_total(wider) > width:
                break
            self.shown = wider
        self.spare = max(0, width - self._least_total(self.shown))

    @property
    def folded(self) -> bool:
        """Whether some name goes over several lines."""
        names = [column for column in self.shown if column.group == NAME]
        return self._natural(NAME, names) > self._least(NAME, names) + self.spare

    def grid(self) -> RichTable:
        """The rows as a rich table, with a line between the groups of the paper."""
        grid = RichTable(box=box.MINIMAL, show_edge=False, pad_edge=False)
        groups = _grouped(self.shown)
        spare = self.spare
        headings = []
        for group, columns in groups:
            least = self._least(group, columns)
            width = min(self._natural(group, columns), least + spare)
            spare -= width - least
            grid.add_column(width=width, overflow="fold")
            headings.append(self._heading(group, columns, width))
        height = max(map(len, headings))
        for column, lines in zip(grid.columns, headings, strict=True):
            column.header = Text("\n".join([""] * (height - len(lines)) + lines))
        for number, row in enumerate(self.rows):
            after = self.rows[number + 1] if number + 1 < len(self.rows) else None
            grid.add_row(
                *(
                    Text(
                        self._line(
                            columns, [self.cells[column][number] for column in columns], each.width or 0
                        )
                    )
                    for (_, columns), each in zip(groups, grid.columns, strict=True)
                ),
                style="" if row.finished else "dim",
                end_section=after is not None and _letter(after) != _letter(row),
            )
        return grid

    def _line(self, columns: Sequence[Column], cells: Sequence[str], width: int) -> str:
        """One line of a group: words as they are, figures in columns to the right."""
        if columns[0].group in _WORDS:
            return cells[0]
        figures = (_right(cell, self.widths[column]) for column, cell in zip(columns, cells, strict=True))
        return _right(_GAP.join(figures), width)

    def _heading(self, group: str, columns: Sequence[Column], width: int) -> list[str]:
        lines = textwrap.wrap(group, width)
        if any(column.title for column in columns):
            lines.append(self._line(columns, [column.title for column in columns], width))
        return lines

    def _natural(self, group: str, columns: Sequence[Column]) -> int:
        """How wide a group would be with nothing wrapped."""
        return max(len(group), sum(self.widths[column] + len(_GAP) for column in columns) - len(_GAP))

    def _least(self, group: str, columns: Sequence[Column]) -> int:
        """How wide a group must be: words may be wrapped, and headings where room is tight."""
        limits = _NARROWEST if self.tight else _NARROW
        if group in limits:
            return min(self._natural(group, columns), limits[group])
        return self._natural(max(group.split(), key=len) if self.tight else group, columns)

    def _least_total(self, columns: Sequence[Column]) -> int:
        groups = _grouped(columns)
        return sum(self._least(group, members) for group, members in groups) + _FENCE * (len(groups) - 1)


def _grouped(columns: Sequence[Column]) -> list[tuple[str, list[Column]]]:
    return [(group, list(members)) for group, members in groupby(columns, key=lambda column: column.group)]


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _letter(row: Row) -> str | None:
    """The paper's letter for the experiment, also where something was overridden."""
    return next((paper.paper_row for paper in paper_rows() if paper.name == row.experiment), None)
