"""What is plotted beside learning curves: scores against sizes, the paper's and lengths; what rows cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from xformer.study.by_length import by_reference_length
from xformer.study.metric import Metric, counts_of, evaluations_of, mean_of
from xformer.study.table import Row, Table
from xformer.study.web.charts import Dot, Series, chart
from xformer.study.web.gallery import Gallery, gallery
from xformer.study.web.learning import learning_curves

SCORES = (Metric("test", "bleu"), Metric("dev", "perplexity"))

_Lengths = list[tuple[float, float]]  # the shortest of a group of sentences, and its BLEU


@dataclass(frozen=True)
class Quantity:
    """What stands on the horizontal axis; `tracked` is its key in the configuration or among the results.

    A row is of the series of a size where it declares to change this key.
    """

    title: str
    tracked: str
    of: Callable[[Row], float | None]


def _configured(name: str) -> Callable[[Row], float | None]:
    return lambda row: float(getattr(row.config.model, name)) if row.config else None


PARAMETERS = Quantity("parameters", "parameters", lambda row: row.figure(lambda result: result.parameters))
FLOPS = Quantity(
    "FLOPs per token", "flops_per_token", lambda row: row.figure(lambda result: result.flops_per_token)
)
SPEED = Quantity(
    "training tokens/s", "train_tokens_per_second", lambda row: _mean(row, "train_tokens_per_second")
)
MEMORY = Quantity(
    "peak memory in MiB", "peak_memory_bytes", lambda row: _mean(row, "peak_memory_bytes", 2**20)
)
QUANTITIES = (
    Quantity("heads", "model.heads", _configured("heads")),
    Quantity("d_k", "model.d_k", _configured("d_k")),
    Quantity("layers", "model.layers", _configured("layers")),
    Quantity("d_model", "model.d_model", _configured("d_model")),
    Quantity("d_ff", "model.d_ff", _configured("d_ff")),
    PARAMETERS,
    FLOPS,
)
COSTS = (SPEED, MEMORY)


def galleries(table: Table) -> tuple[Gallery, ...]:
    """All plots of a table for which there are figures."""
    found = (
        gallery(
            "Scores against sizes",
            "A dot is a row, its bar the standard deviation over seeds. Joined: the base and the rows "
            "that declare to change this size and the fewest others. Horizontal axes are logarithmic.",
            tuple(_against_sizes(table)),
        ),
        gallery(
            "Training speed and memory",
            "What a row costs, on the machines that it ran on, and what it scores for that. Horizontal axes "
            "are logarithmic.",
            tuple(_costs(table)),
        ),
        gallery(
            "Scores against the paper's",
            "Each row of Table 3: what was measured against what the paper printed, at another scale.",
            tuple(_against_paper(table)),
        ),
        gallery(
            "BLEU by sentence length",
            "Test sentences by words of the reference, in groups of about equally many, from the shortest "
            "of each group on; mean over seeds. Blue: the base.",
            tuple(_by_reference_length(table)),
        ),
        gallery(
            "BLEU by source length",
            "Splits that `xformer evaluate` has scored: source tokens, from the shortest of each group on. "
            "Blue: the base.",
            tuple(_by_length(table)),
        ),
        learning_curves(table),
    )
    return tuple(each for each in found if each.plots)


def _against_sizes(table: Table) -> Iterator[Markup]:
    return _against(table, QUANTITIES)


def _against(table: Table, quantities: Sequence[Quantity]) -> Iterator[Markup]:
    for quantity in quantities:
        for metric in SCORES:
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
    """Rows that vary the quantity joined with the base, all others behind them.

    Rows that vary much else as well would make a line of unlike things.
    """
    sets = {_changes(row) for row, _ in dots if quantity.tracked in _changes(row) and not row.overrides}
    fewest = min(sets, key=lambda changes: (len(changes), sorted(changes)), default=None)
    varied = [dot for row, dot in dots if row.is_base or (_changes(row) == fewest and not row.overrides)]
    if fewest is None or len({dot.x for dot in varied}) < 2:
        varied = []
    yield Series([dot for _, dot in dots if dot not in varied], "other")
    yield Series(sorted(varied, key=lambda dot: dot.x), "main", joined=True)


def _changes(row: Row) -> frozenset[str]:
    return frozenset(row.config.changes if row.config else ())


def _dot(row: Row, metric: Metric, x: float) -> Dot | None:
    summary = mean_of(row, metric)
    if summary is None:
        return None
    return Dot(x, summary.mean, f"{row.label}: {summary.mean:.2f} at {x:g}", summary.deviation)


def _mean(row: Row, name: str, unit: float = 1.0) -> float | None:
    summary = row.over_seeds(lambda result: getattr(result, name))
    return summary.mean / unit if summary else None


def _costs(table: Table) -> Iterator[Markup]:
    """Speed and memory against what they follow from, then scores against both."""
    for x, y in ((FLOPS, SPEED), (PARAMETERS, MEMORY)):
        dots = [
            Dot(across, up, f"{row.label}: {up:,.0f}")
            for row in table.rows
            if (across := x.of(row)) is not None and (up := y.of(row)) is not None
        ]
        if len({(dot.x, dot.y) for dot in dots}) > 1:
            title = f"{y.title} against {x.title}"
            yield chart(title, x.title, y.title, [Series(dots, "main")], logarithmic=True)
    yield from _against(table, COSTS)


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


def _by_reference_length(table: Table) -> Iterator[Markup]:
    found = [(row, lengths) for row in table.rows if (lengths := _reference_lengths(row))]
    if found:
        yield _lines("test BLEU by words of the reference", "words of the reference, from", found)


def _reference_lengths(row: Row) -> _Lengths:
    """The start and the mean BLEU over seeds of each group of lengths."""
    groups: dict[int, list[float]] = {}
    for run in row.finished:
        counts = counts_of(run, Metric("test", "bleu"))
        for each in by_reference_length(counts) if counts is not None else ():
            groups.setdefault(each.shortest, []).append(each.bleu)
    return [(float(start), fmean(scores)) for start, scores in sorted(groups.items())]


def _by_length(table: Table) -> Iterator[Markup]:
    lengths = [(row, _lengths(row)) for row in table.rows]
    for split in dict.fromkeys(split for _, found in lengths for split in found):
        scored = [(row, found[split]) for row, found in lengths if split in found]
        yield _lines(f"{split}: BLEU by source length", "source tokens, from", scored)


def _lines(title: str, x_name: str, rows: Sequence[tuple[Row, _Lengths]]) -> Markup:
    """A line for each row, the base's in front."""
    series = [
        Series(
            [Dot(x, y, f"{row.label}: {y:.1f} from {x:g}") for x, y in found],
            "main" if row.is_base else "other",
            joined=True,
            label=row.label,
        )
        for row, found in sorted(rows, key=lambda each: each[0].is_base)
    ]
    return chart(title, x_name, "BLEU", series)


def _lengths(row: Row) -> dict[str, _Lengths]:
    """By split the start and the mean BLEU over seeds of each group of lengths, decoded as the run is."""
    found: dict[str, dict[int, list[float]]] = {}
    for run in row.finished:
        scored = next((evaluation.splits for evaluation, _ in evaluations_of(run)), {})
        for split, scores in scored.items():
            for bucket in scores.by_source_length:
                found.setdefault(split, {}).setdefault(bucket.shortest, []).append(bucket.bleu)
    return {
        split: [(float(start), fmean(scores)) for start, scores in sorted(groups.items())]
        for split, groups in found.items()
    }
