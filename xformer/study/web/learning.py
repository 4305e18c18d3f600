"""Learning curves by updates, by tokens and by FLOPs: which row learns faster depends on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from xformer.config.sizes.flops import TRAINING, flops
from xformer.errors import UserError
from xformer.runs.folder import RunFolder
from xformer.study.curves import Point, read_curve
from xformer.study.table import Row, Table
from xformer.study.web.charts import Dot, Series, chart
from xformer.study.web.gallery import Gallery, View

_LONGEST_LIST = 200  # rows of one table: a page must stay one that a phone can open
_UNIT = "nats a token"

_Horizontal = Callable[[Point, float], float]  # from a point and the FLOPs that one token takes


@dataclass(frozen=True)
class _Curves:
    """A row's runs; `flops` are those of training on one token, not a number where unknown."""

    row: Row
    runs: tuple[tuple[Point, ...], ...]
    flops: float


def learning_curves(table: Table) -> Gallery:
    """All rows in one plot, then a plot for each row before the base's, in three views."""
    rows = [_curves(row) for row in table.rows[:_LONGEST_LIST]]
    rows = [curves for curves in rows if curves.runs]
    axes: tuple[tuple[str, str, _Horizontal], ...] = (
        ("updates", "updates", lambda point, _: point.update),
        ("tokens", "training tokens", lambda point, _: point.tokens),
        ("FLOPs", "training FLOPs", lambda point, each: point.tokens * each),
    )
    views = (View(name, tuple(_plots(rows, title, x))) for name, title, x in axes)
    return Gallery(
        "Learning curves",
        "Nats a target token, without smoothing. Line: training, a seed each; dots: dev; broken: "
        "the base. FLOPs are those of the forward and backward pass.",
        tuple(view for view in views if view.plots),
        open=False,
    )


def _curves(row: Row) -> _Curves:
    runs = (run for run in row.runs if run.started and run not in row.copies)
    found = tuple(curve for run in runs if (curve := read_curve(run.folder)))
    return _Curves(row, found, TRAINING * _flops_per_token(row) if found else float("nan"))


def _flops_per_token(row: Row) -> float:
    """What the results say; before there is one, what follows from the configuration."""
    said = row.figure(lambda result: result.flops_per_token)
    if said is not None:
        return said
    for run in row.runs:
        try:
            config = RunFolder(run.folder).config()
            return flops(config.model, config.tokenizer.vocabulary).token
        except (UserError, OSError):  # a folder that is not whole, or of another version
            continue
    return float("nan")


def _plots(rows: Sequence[_Curves], x_name: str, x: _Horizontal) -> Iterator[Markup]:
    base = next((each for each in rows if each.row.is_base), None)
    if len(rows) > 1 and (together := chart("all rows, on dev", x_name, _UNIT, list(_together(rows, x)))):
        yield together
    for each in rows:
        if not all(math.isfinite(x(point, each.flops)) for run in each.runs for point in run):
            continue  # what a token of this row costs is not known
        behind = [] if base is None or each is base else _lines(base, x, "behind", base.runs[:1])
        yield chart(each.row.label, x_name, _UNIT, [*behind, *_lines(each, x, "main", each.runs)])


def _together(rows: Sequence[_Curves], x: _Horizontal) -> Iterator[Series]:
    """The dev curves of each row's first run, the base's in front."""
    for each in sorted(rows, key=lambda each: each.row.is_base):
        dots = [Dot(x(point, each.flops), point.dev) for point in each.runs[0] if point.dev is not None]
        look = "main" if each.row.is_base else "other"
        yield Series(dots, look, joined=True, label=each.row.label, marked=len(dots) == 1)


def _lines(curves: _Curves, x: _Horizontal, look: str, runs: Sequence[tuple[Point, ...]]) -> Iterator[Series]:
    label = "base" if look == "behind" else curves.row.label
    for run in runs:
        trained = [Dot(x(p, curves.flops), p.trained) for p in run if p.trained is not None]
        dev = [Dot(x(p, curves.flops), p.dev, f"{label}: dev {p.dev:.3f}") for p in run if p.dev is not None]
        yield Series(trained, look, joined=True, label=label, marked=False)
        yield Series(dev, look)
