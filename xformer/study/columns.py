"""The columns of a table of rows: what each is called, where it belongs, and how its cells are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xformer.study import text
from xformer.study.comparison import Comparison, Difference
from xformer.study.findings import ONE_SEED, Findings
from xformer.study.metric import Metric, mean_of
from xformer.study.paper import PaperRow
from xformer.study.records import ConfigFile, ResultFile
from xformer.study.table import Row

LETTER = "row"
NAME = "name"
SIZES = "as run"
DIFFERENCE = "difference from base (95 %)"
PAPER = "paper (scale=paper, WMT14)"
PARAMETERS = "parameters"
COST = "cost"
STATE = "state"


_Value = Callable[[Row], float | None]
_Figure = Callable[[ResultFile], float | None]
_Write = Callable[[float], str]


@dataclass(frozen=True)
class Column:
    """One column of a group; a group of a single one needs no title beside the group's.

    Columns of the same `rank` come and go together; where room is short, high ranks go first.
    """

    group: str
    title: str
    rank: int
    cell: Callable[[Row], str]
    number: _Value = lambda _: None  # what the cell says, not rounded; None where it says no number


def columns_of(rows: Sequence[Row], scale: str, findings: Findings | None = None) -> tuple[Column, ...]:
    """The columns for a block of rows; those of the paper only where the block holds rows of the paper.

    Differences from the base have columns where `findings` holds any.
    """
    columns = (
        Column(LETTER, "", 10, lambda row: row.paper.paper_row if row.paper else text.ABSENT),
        Column(NAME, "", 0, lambda row: row.label),
        *_sizes(),
        *_measured(f"measured (scale={scale})", findings),
        *_differences(findings),
        *_printed(2 if findings and findings.shown else 0),
        *_costs(),
        Column(STATE, "", 0, lambda row: row.state),
    )
    papers = any(row.paper for row in rows)
    return tuple(column for column in columns if papers or column.group not in (LETTER, PAPER))


def _sizes() -> Iterator[Column]:
    def size(
        title: str, rank: int, value: Callable[[ConfigFile], float], write: _Write = "{:g}".format
    ) -> Column:
        return _numbers(SIZES, title, rank, lambda row: value(row.config) if row.config else None, write)

    yield size("N", 3, lambda config: config.model.layers)
    yield size("d_model", 3, lambda config: config.model.d_model)
    yield size("d_ff", 3, lambda config: config.model.d_ff)
    yield size("h", 3, lambda config: config.model.heads)
    yield size("d_k", 3, lambda config: config.model.d_k)
    yield size("d_v", 3, lambda config: config.model.d_v)
    yield size("P_drop", 5, lambda config: config.model.dropout)
    yield size("ε_ls", 5, lambda config: config.optim.label_smoothing)
    yield size("updates", 6, lambda config: config.trainer.updates, text.count)


def _measured(group: str, findings: Findings | None) -> Iterator[Column]:
    # Where differences are known, they tell more than a second score of the same rows does.
    second = 2 if findings and findings.shown else 0
    yield _score(group, "dev PPL", second, Metric("dev", "perplexity"), text.perplexity)
    yield _score(group, "dev BLEU", second, Metric("dev", "bleu"), text.bleu)
    yield _score(group, "test BLEU", 0, Metric("test", "bleu"), text.bleu)


def _printed(second: int) -> Iterator[Column]:
    """What the paper prints, as it prints it; a dash where it prints nothing or the row is not its own."""

    def of(value: Callable[[PaperRow], float | None]) -> _Value:
        return lambda row: value(row.paper) if row.paper else None

    yield _numbers(PAPER, "PPL", second, of(lambda row: row.dev_ppl), "{:.2f}".format)
    yield _numbers(PAPER, "BLEU", 0, of(lambda row: row.dev_bleu), "{:.1f}".format)
    yield _numbers(PAPER, "params M", 2, of(lambda row: row.params_millions), str)


def _costs() -> Iterator[Column]:
    def figure(value: _Figure) -> _Value:
        return lambda row: row.figure(value)

    def mean(value: _Figure) -> _Value:
        return lambda row: summary.mean if (summary := row.over_seeds(value)) else None

    closed_form = figure(lambda result: result.parameters_closed_form)
    yield _numbers(PARAMETERS, "closed form", 7, closed_form, text.count)
    yield _numbers(PARAMETERS, "counted", 4, figure(lambda result: result.parameters), text.count)
    yield _numbers(COST, "FLOPs/token", 8, figure(lambda result: result.flops_per_token), text.magnitude)
    yield _numbers(COST, "tokens/s", 8, mean(lambda result: result.train_tokens_per_second), text.count)
    yield _numbers(COST, "memory", 9, mean(lambda result: result.peak_memory_bytes), text.memory)


def _differences(findings: Findings | None) -> Iterator[Column]:
    """The difference from the base with its interval and p-value, and the two parts of the interval."""
    for number, comparison in enumerate(findings.shown if findings else ()):
        title, rank = f"Δ {comparison.metric.title}", 1 if number == 0 else 7
        value, seeds, sentences = (_compared(comparison, of) for of in (_difference, _seeds, _sentences))
        yield Column(DIFFERENCE, title, rank, partial(_with_interval, comparison), value)
        yield _numbers(DIFFERENCE, "p", rank, _compared(comparison, _p), text.p_value)
        if comparison.metric.score == "bleu":
            yield _numbers(DIFFERENCE, "seeds", 8, seeds, _half)
            yield _numbers(DIFFERENCE, "sentences", 8, sentences, _half)


def _compared(comparison: Comparison, of: Callable[[Difference], float | None]) -> _Value:
    return lambda row: None if (found := comparison.of(row)) is None else of(found)


def _difference(found: Difference) -> float:
    return found.contrast.value


def _p(found: Difference) -> float:
    return found.p_holm


def _seeds(found: Difference) -> float:
    return found.contrast.uncertainty.seeds_half()


def _sentences(found: Difference) -> float | None:
    return found.contrast.uncertainty.sentences_half()


def _with_interval(comparison: Comparison, row: Row) -> str:
    found = comparison.of(row)
    if found is None:
        return text.ABSENT
    mark = ONE_SEED if found.one_seed else ""
    value, half = found.contrast.value, found.contrast.uncertainty.half()
    return f"{text.signed(value, text.hundredths)} {_half(half)}{mark}"


def _half(half: float) -> str:
    return f"± {text.hundredths(half)}"


def _score(group: str, title: str, rank: int, metric: Metric, write: _Write) -> Column:
    """The mean over seeds, and their standard deviation where there are several."""

    def cell(row: Row) -> str:
        summary = mean_of(row, metric)
        if summary is None:
            return text.ABSENT
        mean = write(summary.mean)
        return mean if summary.deviation is None else f"{mean} ± {text.spread(summary.deviation, write)}"

    return Column(
        group, title, rank, cell, lambda row: summary.mean if (summary := mean_of(row, metric)) else None
    )


def _numbers(group: str, title: str, rank: int, value: _Value, write: _Write) -> Column:
    """A column of single numbers, a dash where there is none."""

    def cell(row: Row) -> str:
        number = value(row)
        return text.ABSENT if number is None else write(number)

    return Column(group, title, rank, cell, value)
