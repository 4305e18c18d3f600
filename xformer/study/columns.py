"""The columns of a table of rows: what each is called, where it belongs, and how its cells are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xformer.study import text
from xformer.study.comparison import Difference
from xformer.study.findings import ONE_SEED, Findings
from xformer.study.paper import PaperRow
from xformer.study.records import ConfigFile, ResultFile, Scores
from xformer.study.statistics.intervals import Uncertainty
from xformer.study.table import Row, Summary

LETTER = "row"
NAME = "name"
SIZES = "as run"
DIFFERENCE = "difference from base (95 %)"
PAPER = "paper (scale=paper, WMT14)"
PARAMETERS = "parameters"
COST = "cost"
STATE = "state"


@dataclass(frozen=True)
class Column:
    """One column of a group; a group of a single one needs no title beside the group's.

    Columns of the same `rank` come and go together; where room is short, high ranks go first.
    """

    group: str
    title: str
    rank: int
    cell: Callable[[Row], str]


def columns_of(rows: Sequence[Row], scale: str, findings: Findings | None = None) -> tuple[Column, ...]:
    """The columns for a block of rows; those of the paper only where the block holds rows of the paper.

    Differences from the base have columns where `findings` holds any.
    """
    measured = f"measured (scale={scale})"
    # Where differences are known, they tell more than a second score of the same rows does.
    second = 2 if findings and findings.shown else 0
    columns = (
        Column(LETTER, "", 10, lambda row: row.paper.paper_row if row.paper else text.ABSENT),
        Column(NAME, "", 0, lambda row: row.label),
        Column(SIZES, "N", 3, _configured(lambda config: config.model.layers)),
        Column(SIZES, "d_model", 3, _configured(lambda config: config.model.d_model)),
        Column(SIZES, "d_ff", 3, _configured(lambda config: config.model.d_ff)),
        Column(SIZES, "h", 3, _configured(lambda config: config.model.heads)),
        Column(SIZES, "d_k", 3, _configured(lambda config: config.model.d_k)),
        Column(SIZES, "d_v", 3, _configured(lambda config: config.model.d_v)),
        Column(SIZES, "P_drop", 5, _configured(lambda config: config.model.dropout)),
        Column(SIZES, "ε_ls", 5, _configured(lambda config: config.optim.label_smoothing)),
        Column(SIZES, "updates", 6, _configured(lambda config: config.trainer.updates, text.count)),
        Column(measured, "dev PPL", second, _score("dev", lambda scores: scores.perplexity, text.perplexity)),
        Column(measured, "dev BLEU", second, _score("dev", lambda scores: scores.bleu, text.bleu)),
        Column(measured, "test BLEU", 0, _score("test", lambda scores: scores.bleu, text.bleu)),
        *_differences(findings),
        Column(PAPER, "PPL", second, _printed(lambda row: f"{row.dev_ppl:.2f}")),
        Column(PAPER, "BLEU", 0, _printed(lambda row: f"{row.dev_bleu:.1f}")),
        Column(PAPER, "params M", 2, _printed(lambda row: row.params_millions)),
        Column(
            PARAMETERS, "closed form", 7, _figure(lambda result: result.parameters_closed_form, text.count)
        ),
        Column(PARAMETERS, "counted", 4, _figure(lambda result: result.parameters, text.count)),
        Column(COST, "FLOPs/token", 8, _figure(lambda result: result.flops_per_token, text.magnitude)),
        Column(COST, "tokens/s", 8, _mean(lambda result: result.train_tokens_per_second, text.count)),
        Column(COST, "memory", 9, _mean(lambda result: result.peak_memory_bytes, text.memory)),
        Column(STATE, "", 0, lambda row: row.state),
    )
    papers = any(row.paper for row in rows)
    return tuple(column for column in columns if papers or column.group not in (LETTER, PAPER))


def _differences(findings: Findings | None) -> Iterator[Column]:
    """The difference from the base with its interval and p-value, and the two parts of the interval."""
    for number, comparison in enumerate(findings.shown if findings else ()):
        title, of = comparison.metric.title, comparison.of
        rank = 1 if number == 0 else 7
        yield Column(DIFFERENCE, f"Δ {title}", rank, _found(of, _difference))
        yield Column(DIFFERENCE, "p", rank, _found(of, lambda found: text.p_value(found.p_holm)))
        if comparison.metric.score == "bleu":
            yield Column(DIFFERENCE, "seeds", 8, _found(of, lambda found: _half(_error(found).seeds_half())))
            yield Column(
                DIFFERENCE, "sentences", 8, _found(of, lambda found: _half(_error(found).sentences_half()))
            )


def _difference(found: Difference) -> str:
    mark = ONE_SEED if found.one_seed else ""
    value, half = found.contrast.value, _error(found).half()
    return f"{text.signed(value, text.hundredths)} {_half(half)}{mark}"


def _half(half: float | None) -> str:
    return text.ABSENT if half is None else f"± {text.hundredths(half)}"


def _error(found: Difference) -> Uncertainty:
    return found.contrast.uncertainty


def _found(
    of: Callable[[Row], Difference | None], write: Callable[[Difference], str]
) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        found = of(row)
        return text.ABSENT if found is None else write(found)

    return cell


def _configured(
    value: Callable[[ConfigFile], float], write: Callable[[float], str] = "{:g}".format
) -> Callable[[Row], str]:
    return lambda row: write(value(row.config)) if row.config else text.ABSENT


def _score(
    split: str, score: Callable[[Scores], float | None], write: Callable[[float], str]
) -> Callable[[Row], str]:
    def figure(result: ResultFile) -> float | None:
        scores: Scores | None = getattr(result, split)
        return score(scores) if scores else None

    return lambda row: _spread(row.over_seeds(figure), write)


def _spread(summary: Summary | None, write: Callable[[float], str]) -> str:
    if summary is None:
        return text.ABSENT
    mean = write(summary.mean)
    return mean if summary.deviation is None else f"{mean} ± {write(summary.deviation)}"


def _printed(value: Callable[[PaperRow], object]) -> Callable[[Row], str]:
    """What the paper prints, as it prints it; a dash where it prints nothing or the row is not its own."""

    def cell(row: Row) -> str:
        printed = value(row.paper) if row.paper else None
        return text.ABSENT if printed is None else str(printed)

    return cell


def _figure(
    figure: Callable[[ResultFile], float | None], write: Callable[[float], str]
) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        value = row.figure(figure)
        return text.ABSENT if value is None else write(value)

    return cell


def _mean(
    figure: Callable[[ResultFile], float | None], write: Callable[[float], str]
) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        summary = row.over_seeds(figure)
        return text.ABSENT if summary is None else write(summary.mean)

    return cell
