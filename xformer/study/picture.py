"""The report as one picture: each row's test BLEU less the base's, its interval, and the paper's difference.

Lengths are in inches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from xformer.study.comparison import Comparison
from xformer.study.findings import COMPARED, Findings
from xformer.study.records import ResultFile
from xformer.study.svg import shortened, svg
from xformer.study.table import Table

_ROW, _EDGES = 0.2, 1.1  # height of a line, and of what stands above and below them
_WIDTH = 7.0
_LONGEST = 40  # letters of a label
_CLEAR, _UNCLEAR, _PAPER = "#1b5e9e", "#8a8a8a", "#c2571a"


@dataclass(frozen=True)
class _Line:
    """A row of the picture; `half` is half its interval, where one is known."""

    label: str
    value: float
    half: float | None
    paper: float | None


def report_svg(tables: Sequence[Table], findings: Sequence[Findings]) -> str | None:
    """Draw every table that has a base and other rows; None where there is none."""
    panels = [
        (table, comparison, lines)
        for table, found in zip(tables, findings, strict=True)
        for comparison in found.comparisons
        if comparison.metric == COMPARED[0] and (lines := _lines(table, comparison))
    ]
    if not panels:
        return None
    return svg(partial(_figure, panels))


def _figure(panels: Sequence[tuple[Table, Comparison, Sequence[_Line]]]) -> Figure:
    heights = [_EDGES + _ROW * len(lines) for _, _, lines in panels]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    places = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (table, comparison, lines) in zip(places, panels, strict=True):
        _draw(axes, table, comparison, lines)
    return figure


def _lines(table: Table, comparison: Comparison) -> list[_Line]:
    bases = [row for row in table.rows if row.is_base and row.finished]
    if len(bases) != 1 or (level := bases[0].over_seeds(_test_bleu)) is None:
        return []
    (base,) = bases
    found = []
    for row in table.rows:
        summary = row.over_seeds(_test_bleu)
        if row is base or summary is None:
            continue
        difference = comparison.of(row)
        paper = row.paper.dev_bleu - base.paper.dev_bleu if row.paper and base.paper else None
        half = difference.contrast.uncertainty.half() if difference else None
        lost = f" ({row.partly_diverged})" if row.partly_diverged else ""
        label = shortened(row.label, _LONGEST) + lost
        found.append(_Line(label, summary.mean - level.mean, half, paper))
    return found


def _where(table: Table) -> str:
    return f"scale {table.setting.scale or 'unknown'}, data {table.setting.data or 'unknown'}"


def _test_bleu(result: ResultFile) -> float | None:
    return result.test.bleu if result.test else None


def _draw(axes: Axes, table: Table, comparison: Comparison, lines: Sequence[_Line]) -> None:
    reach = comparison.reach or max(abs(line.value) for line in lines) or 1.0
    axes.set_xlim(-1.1 * reach, 1.1 * reach)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.axvline(0, color="0.3", linewidth=0.8)
    for place, line in enumerate(lines):
        clear = line.half is not None and abs(line.value) > line.half
        colour = _CLEAR if clear else _UNCLEAR
        if abs(line.value) > 1.1 * reach:  # one row that failed should not press all others onto zero
            edge = 1.04 * reach if line.value > 0 else -1.04 * reach
            axes.plot(edge, place, ">" if line.value > 0 else "<", color=colour, markersize=6)
            axes.annotate(
                f"{line.value:+.1f}", (edge, place), (-8 if line.value > 0 else 8, 0),
                textcoords="offset points", fontsize=7, va="center",
                ha="right" if line.value > 0 else "left",
            )  # fmt: skip
        else:
            axes.errorbar(line.value, place, xerr=line.half, fmt="o", color=colour, markersize=4)
        if line.paper is not None:
            axes.plot(line.paper, place, "D", color=_PAPER, markersize=5, fillstyle="none")
    axes.set_yticks(range(len(lines)), [line.label for line in lines], fontsize=8, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", linewidth=0.4)
    axes.set_axisbelow(True)
    axes.set_title(f"{_where(table)}: BLEU less the base's", fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel(
        "● test BLEU, 95 % interval, grey where it holds zero    ◇ the paper's dev BLEU, newstest2013",
        fontsize=8,
    )
