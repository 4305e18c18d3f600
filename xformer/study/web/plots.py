"""What is plotted: scores against each size, against the paper's, by source length, and learning curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from xformer.study.comparison import BASE
from xformer.study.curves import Point, read_curve
from xformer.study.metric import Metric, mean_of
from xformer.study.records import LengthScores, UnreadableError, read_evaluation
from xformer.study.run import Run
from xformer.study.table import Row, Table
from xformer.study.web.charts import Dot, Series, chart

_SCORES = (Metric("test", "bleu"), Metric("dev", "perplexity"))
_LONGEST_LIST = 200  # plots of curves in one table: a page must stay one that a phone can open

_Curve = tuple[Point, ...]


@dataclass(frozen=True)
class Quantity:
    """What stands on the horizontal axis, and the key that a row must declare to be of its series."""

    title: str
    key: str | None
    of: Callable[[Row], float | None]


def _configured(name: str) -> Callable[[Row], float | None]:
    return lambda row: float(getattr(row.config.model, name)) if row.config else None


QUANTITIES = (
    Quantity("heads", "model.heads", _configured("heads")),
    Quantity("d_k", "model.d_k", _configured("d_k")),
    Quantity("layers", "model.layers", _configured("layers")),
    Quantity("d_model", "model.d_model", _configured("d_model")),
    Quantity("d_ff", "model.d_ff", _configured("d_ff")),
    Quantity("parameters", None, lambda row: row.figure(lambda result: result.parameters)),
    Quantity("FLOPs per token", None, lambda row: row.figure(lambda result: result.flops_per_token)),
    Quantity("training tokens/s", None, lambda row: _mean(row, "train_tokens_per_second")),
    Quantity("peak memory in bytes", None, lambda row: _mean(row, "peak_memory_bytes")),
)


@dataclass(frozen=True)
class Gallery:
    """Plots under one heading; `about` says how to read them."""

    title: str
    about: str
    plots: tuple[Markup, ...]
    open: bool = True


def galleries(table: Table) -> tuple[Gallery, ...]:
    """All plots of a table for which there are figures."""
    curves = [_curves(row) for row in table.rows]
    found = (
        Gallery(
            "Scores against sizes",
            "A dot is a row, its bar the standard deviation over seeds. Joined: the base and the rows "
            "that declare to change this size. Horizontal axes are logarithmic.",
            tuple(_against_sizes(table)),
        ),
        Gallery(
            "Scores against the paper's",
            "Each row of Table 3: what was measured against what the paper printed, at another scale.",
            tuple(_against_paper(table)),
        ),
        Gallery(
            "BLEU by source length",
            "Source tokens, from the shortest of each group on. Heavy: the base.",
            tuple(_by_length(table)),
        ),
        Gallery(
            "Learning curves by updates",
            "Nats a target token, without smoothing. Line: training, a seed each; dots: dev; grey: the base.",
            tuple(_learning(table, curves, "updates", lambda point: point.update)),
            open=False,
        ),
        Gallery(
            "Learning curves by tokens",
            "The same by training tokens.",
            tuple(_learning(table, curves, "training tokens", lambda point: point.tokens)),
            open=False,
        ),
    )
    return tuple(each for each in found if each.plots)


def _against_sizes(table: Table) -> Iterator[Markup]:
    for quantity in QUANTITIES:
        for metric in _SCORES:
            known = [
                (row, dot)
                for row in table.rows
                if (x := quantity.of(row)) is not None and (dot := _dot(row, metric, x)) is not None
            ]
            if len({dot.x for _, dot in known}) < 2:
                continue
            yield chart(
                f"{metric.title} against {quantity.title}",
                quantity.title,
                metric.title,
                tuple(_series(known, quantity)),
                logarithmic=True,
            )


def _series(dots: Sequence[tuple[Row, Dot]], quantity: Quantity) -> Iterator[Series]:
    """Rows that vary the quantity joined with the base, all others behind them."""
    varied = [dot for row, dot in dots if _is_base(row) or _declares(row, quantity.key)]
    if len({dot.x for dot in varied}) < 2:
        varied = []
    yield Series([dot for _, dot in dots if dot not in varied], "other")
    yield Series(sorted(varied, key=lambda dot: dot.x), "main", joined=True)


def _is_base(row: Row) -> bool:
    return row.experiment == BASE and not row.overrides


def _declares(row: Row, key: str | None) -> bool:
    return bool(key and row.config and key in row.config.changes and not row.overrides)


def _dot(row: Row, metric: Metric, x: float) -> Dot | None:
    summary = mean_of(row, metric)
    if summary is None:
        return None
    return Dot(x, summary.mean, f"{row.label}: {summary.mean:.2f} at {x:g}", summary.deviation)


def _mean(row: Row, name: str) -> float | None:
    summary = row.over_seeds(lambda result: getattr(result, name))
    return summary.mean if summary else None


def _against_paper(table: Table) -> Iterator[Markup]:
    for metric, printed in ((Metric("dev", "bleu"), "dev_bleu"), (Metric("dev", "perplexity"), "dev_ppl")):
        dots = [
            dot
            for row in table.paper_block
            if row.paper and (dot := _dot(row, metric, float(getattr(row.paper, printed))))
        ]
        if len(dots) > 1:
            yield chart(
                f"{metric.title}: measured against printed", "paper", "measured", [Series(dots, "main")]
            )


def _by_length(table: Table) -> Iterator[Markup]:
    lengths = [(row, _lengths(row)) for row in table.rows]
    splits = dict.fromkeys(split for _, found in lengths for split in found)
    for split in splits:
        series = [
            Series(
                [Dot(x, y, f"{row.label}: {y:.1f} from {x:g} tokens") for x, y in found[split]],
                "main" if _is_base(row) else "other",
                joined=True,
                label=row.label,
            )
            for row, found in lengths
            if split in found
        ]
        yield chart(f"{split}: BLEU by source length", "source tokens, from", "BLEU", series)


def _lengths(row: Row) -> dict[str, list[tuple[float, float]]]:
    """By split the start and the mean BLEU over seeds of each group of lengths, decoded as the run is."""
    found: dict[str, dict[int, list[float]]] = {}
    for run in row.finished:
        for split, buckets in _evaluated(run).items():
            for bucket in buckets:
                found.setdefault(split, {}).setdefault(bucket.shortest, []).append(bucket.bleu)
    return {
        split: [(float(start), fmean(scores)) for start, scores in sorted(groups.items())]
        for split, groups in found.items()
    }


def _evaluated(run: Run) -> dict[str, tuple[LengthScores, ...]]:
    if run.config is None:
        return {}
    decode = run.config.decode
    own = (decode.beam, decode.alpha, decode.extra_length, decode.average)
    for path in sorted((run.folder / "evaluations").glob("[!.]*.json")):
        try:
            found = read_evaluation(path)
        except UnreadableError:
            continue
        if found and own == (found.beam, found.alpha, found.extra_length, found.averaged_checkpoints):
            return {
                split: scores.by_source_length
                for split, scores in found.splits.items()
                if scores.by_source_length
            }
    return {}


def _curves(row: Row) -> list[_Curve]:
    runs = (run for run in row.runs if run.started and run not in row.copies)
    return [curve for run in runs if (curve := read_curve(run.folder))]


def _learning(
    table: Table, curves: Sequence[list[_Curve]], x_name: str, x: Callable[[Point], float]
) -> Iterator[Markup]:
    base = next((own[:1] for row, own in zip(table.rows, curves, strict=True) if _is_base(row)), [])
    for row, own in list(zip(table.rows, curves, strict=True))[:_LONGEST_LIST]:
        if not own:
            continue
        behind = [] if _is_base(row) else base
        series = [*_lines(behind, x, "behind", "base"), *_lines(own, x, "main", row.label)]
        yield chart(row.label, x_name, "nats a token", series)


def _lines(curves: Sequence[_Curve], x: Callable[[Point], float], look: str, label: str) -> Iterator[Series]:
    for curve in curves:
        trained = [Dot(x(point), point.trained) for point in curve if point.trained is not None]
        dev = [Dot(x(point), point.dev, f"{label}: dev {point.dev:.3f}") for point in curve if point.dev]
        yield Series(trained, look, joined=True, label=label, marked=False)
        yield Series(dev, look)
