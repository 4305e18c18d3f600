"""Learning curves as one picture: each row's losses by updates, a seed a line, the base's behind.

Lengths are in inches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from xformer.study.curves import Point, read_curve
from xformer.study.svg import shortened, svg
from xformer.study.table import Row, Table

_COLUMNS, _WIDTH, _HEIGHT = 4, 2.6, 2.0
_LEFT, _BELOW = 0.6, 0.3  # for the names of the axes
_GAP, _TITLE, _TICKS = 0.15, 0.25, 0.3  # between columns, above a panel, below it
_MOST = 100  # rows of one table: more make a picture that nothing opens
_LONGEST = 30  # letters of a label
_ROW, _BASE = "#1b5e9e", "#8a8a8a"

_Curve = tuple[Point, ...]
_Panel = tuple[str, list[_Curve], list[_Curve]]  # a row's name and curves, and the base's


def curves_svg(tables: Sequence[Table]) -> str | None:
    """Draw every row of which some run has a curve; None where there is none."""
    panels = [panel for table in tables for panel in _panels(table, named=len(tables) > 1)]
    return svg(partial(_figure, panels)) if panels else None


def _panels(table: Table, *, named: bool) -> list[_Panel]:
    """Those of a table; `named`: with the scale, which tells it from the others."""
    where = f"{table.setting.scale or 'unknown'}: " if named else ""
    rows = table.rows[:_MOST]
    base = next((_curves(row) for row in rows if row.is_base), [])
    curves = [(row, _curves(row)) for row in rows]
    return [(where + row.label, found, [] if row.is_base else base) for row, found in curves if found]


def _curves(row: Row) -> list[_Curve]:
    runs = [run for run in row.runs if run.started and run not in row.copies]
    return [curve for run in runs if len(curve := read_curve(run.folder)) > 1]


def _figure(panels: Sequence[_Panel]) -> Figure:
    columns = min(_COLUMNS, len(panels))
    lines = math.ceil(len(panels) / columns)
    width, height = _LEFT + _WIDTH * columns, _HEIGHT * lines + _BELOW
    figure = Figure(figsize=(width, height))
    # Laid out by hand: matplotlib's own engines draw all panels once more to find out what is known here.
    places = list(figure.subplots(lines, columns, squeeze=False, sharey=True).flat)
    figure.subplots_adjust(
        left=_LEFT / width,
        right=1 - _GAP / width,
        bottom=(_BELOW + _TICKS) / height,
        top=1 - _TITLE / height,
        wspace=_GAP / (_WIDTH - _GAP),
        hspace=(_TITLE + _TICKS) / (_HEIGHT - _TITLE - _TICKS),
    )
    for axes, panel in zip(places, panels, strict=False):
        _draw(axes, *panel)
    for axes in places[len(panels) :]:
        axes.remove()
    figure.supxlabel("updates", y=0.1 / height, fontsize=9)
    figure.supylabel("nats a target token: line training, dots dev, grey the base", x=0.1 / width, fontsize=9)
    return figure


def _draw(axes: Axes, label: str, curves: Sequence[_Curve], base: Sequence[_Curve]) -> None:
    for colour, found in ((_BASE, base), (_ROW, curves)):
        for curve in found:
            _line(axes, [(point.update, point.trained) for point in curve], color=colour, linewidth=0.8)
            dots = {"color": colour, "linestyle": "none", "marker": "o", "markersize": 3}
            _line(axes, [(point.update, point.dev) for point in curve], **dots)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(shortened(label, _LONGEST), fontsize=8, loc="left", parse_math=False)
    axes.tick_params(labelsize=7)
    axes.grid(linewidth=0.4)


def _line(axes: Axes, points: Sequence[tuple[float, float | None]], **look: Any) -> None:
    known = [(x, y) for x, y in points if y is not None]
    axes.plot([x for x, _ in known], [y for _, y in known], **look)
