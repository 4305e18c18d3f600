"""The maps as one picture: for each kind a block of small maps, layers downwards and heads to the right.

Lengths are in inches. Nothing here knows of a window or a display: the figure has no pyplot behind it, and
its file is made by matplotlib's Agg, PDF or SVG writer. The same maps give the same bytes.
"""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from xformer.attention_maps.maps import TITLES, AttentionMaps, Grid, labels
from xformer.attention_maps.tokens import Token

DOTS_PER_INCH = 150
COLOURS = "Blues"

_CELL = 0.15  # of one weight, where the page has room: a label of its own fits beside each
_SMALLEST_MAP = 1.0  # so that short sentences do not give stamps
_ALONE = 4.0  # a map that nothing stands beside, for a slide
_SMALLEST_WIDTH = 6.0  # for the text at the top
_LARGEST_PAGE = (40.0, 56.0)  # 6,000 × 8,400 dots, which every viewer still opens
_GAP = 0.14  # between maps
_HEADING = 0.62  # above each block: its title, and the heads' numbers
_TOP = 1.1  # the page's title and the colour bar
_EDGE = 0.35
_LABEL_SIZE = 7.0  # points
_LONGEST_LABEL = 14  # letters; longer ones are cut
_LABEL_ROOM = 0.11  # that a label needs beside the next one


@dataclass(frozen=True)
class _Layout:
    """Where the maps of one kind lie; `cell` is the side of one weight, the same on the whole page."""

    grid: Grid
    cell: float

    @property
    def map_width(self) -> float:
        return self.cell * len(self.grid.keys)

    @property
    def map_height(self) -> float:
        return self.cell * len(self.grid.queries)

    @property
    def slot(self) -> float:
        """Room for a map and the number of its head."""
        return max(self.map_width, 0.5) + _GAP

    @property
    def height(self) -> float:
        return self.grid.layers * (self.map_height + _GAP)


def image(maps: AttentionMaps, image_format: str) -> bytes:
    """Draw the maps as `png`, `pdf` or `svg`, on a shared scale of colours from 0 to 1.

    Where the font lacks a character of a token, a box stands in its place and a line on standard error
    says so.
    """
    out = io.BytesIO()
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(image_format)
    with (
        style.context(["default", {"svg.hashsalt": "xformer"}]),  # whatever the user's own matplotlibrc says
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        draw(maps).savefig(out, format=image_format, dpi=DOTS_PER_INCH, metadata=undated)
    if any("missing from" in str(warning.message) for warning in caught):
        print(
            "xformer: the picture's font lacks some of the characters; an .html page has the browser's",
            file=sys.stderr,
        )
    return out.getvalue()


def draw(maps: AttentionMaps) -> Figure:
    """Return the figure, not yet in any format."""
    names = max(
        map(_printed_width, {name for grid in maps.grids for name in _names(grid.queries + grid.keys)})
    )
    margin, foot = 0.45 + names, 0.1 + names
    cell = _cell_size(maps.grids, margin, foot)
    blocks = [_Layout(grid, cell) for grid in maps.grids]
    width = max(_SMALLEST_WIDTH, margin + max(block.grid.heads * block.slot for block in blocks) + _EDGE)
    height = _TOP + sum(_HEADING + block.height + foot for block in blocks)
    figure = Figure(figsize=(width, height))
    _head(figure, maps, width, height)
    top = height - _TOP
    for block in blocks:
        _block(figure, block, margin, top)
        top -= _HEADING + block.height + foot
    return figure


def _cell_size(grids: Sequence[Grid], margin: float, foot: float) -> float:
    """The side of one weight: of a readable size, or as small as the largest page asks for."""
    longest = max(max(len(grid.queries), len(grid.keys)) for grid in grids)
    columns = max(grid.heads * len(grid.keys) for grid in grids)
    rows = sum(grid.layers * len(grid.queries) for grid in grids)
    across = _LARGEST_PAGE[0] - margin - _EDGE - _GAP * max(grid.heads for grid in grids)
    down = (
        _LARGEST_PAGE[1] - _TOP - (foot + _HEADING) * len(grids) - _GAP * sum(grid.layers for grid in grids)
    )
    # Hundreds of layers or heads leave no room but for the gaps; the page is then larger after all.
    smallest = _ALONE if sum(grid.layers * grid.heads for grid in grids) == 1 else _SMALLEST_MAP
    return min(max(_CELL, smallest / longest), max(across, 8.0) / columns, max(down, 8.0) / rows)


def _head(figure: Figure, maps: AttentionMaps, width: float, height: float) -> None:
    letters = int((width - 2 * _EDGE) / 0.085)
    origin = "its own translation" if maps.translated else "target as given"
    lines = [
        f"{maps.run}, update {maps.update}; {origin}; rows look at columns",
        f"source: {maps.source}",
        f"target: {maps.target}",
    ]
    for number, line in enumerate(lines):
        figure.text(
            _EDGE / width, 1 - (0.25 + 0.18 * number) / height, _short(line, letters),
            fontsize=9, parse_math=False, va="center",
        )  # fmt: skip
    bar = figure.add_axes((_EDGE / width, 1 - 0.82 / height, min(3.0, width / 2) / width, 0.09 / height))
    colours = ScalarMappable(Normalize(0, 1), COLOURS)
    figure.colorbar(colours, cax=bar, orientation="horizontal").ax.tick_params(labelsize=_LABEL_SIZE)


def _block(figure: Figure, block: _Layout, left: float, top: float) -> None:
    """Draw the maps of one kind below `top`, counted from the page's lower edge."""
    width, height = figure.get_size_inches()
    figure.text(
        left / width, (top - 0.2) / height, TITLES[block.grid.kind], fontsize=11, weight="bold", va="center"
    )
    for layer in range(block.grid.layers):
        bottom = top - _HEADING - layer * (block.map_height + _GAP) - block.map_height
        for head in range(block.grid.heads):
            x = left + head * block.slot
            place = (x / width, bottom / height, block.map_width / width, block.map_height / height)
            axes = figure.add_axes(place)
            axes.imshow(
                block.grid.weights_LHTS[layer, head],
                cmap=COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="nearest",
            )  # fmt: skip
            _frame(axes, block, layer, head)


def _frame(axes: Axes, block: _Layout, layer: int, head: int) -> None:
    """Label a map: tokens at the block's left and lower edge only, where they serve a whole row or column."""
    grid = block.grid
    axes.tick_params(length=0, pad=1.5, labelsize=_LABEL_SIZE)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(linewidth=0.5, color="0.6")
    every = math.ceil(_LABEL_ROOM / block.cell)
    if layer == 0:
        axes.set_title(f"head {grid.first_head + head}", fontsize=8, pad=3)
    if head == 0:
        axes.set_ylabel(f"layer {grid.first_layer + layer}", fontsize=8)
        axes.set_yticks(range(0, len(grid.queries), every), _names(grid.queries[::every]), parse_math=False)
    if layer == grid.layers - 1:
        axes.set_xticks(
            range(0, len(grid.keys), every), _names(grid.keys[::every]), rotation=90, parse_math=False
        )
    if grid.border:
        for line in (axes.axhline, axes.axvline):
            line(grid.border - 0.5, color="0.5", linewidth=0.6)


def _printed_width(name: str) -> float:
    width, _, _ = text_to_path.get_text_width_height_descent(name, FontProperties(size=_LABEL_SIZE), False)
    return width / 72


def _names(tokens: Sequence[Token]) -> list[str]:
    return [_short(label, _LONGEST_LABEL) for label in labels(tokens)]


def _short(text: str, letters: int) -> str:
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= letters else text[: letters - 1] + "…"
