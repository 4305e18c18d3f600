"""All that the statistics say about one table, ready to be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from xformer.study import text
from xformer.study.claims import Claim
from xformer.study.comparison import Comparison, compare
from xformer.study.measured import Measured, row_name
from xformer.study.metric import Metric
from xformer.study.statistics.agreement import Agreement, spearman
from xformer.study.statistics.pooled import Inconclusive
from xformer.study.table import Table
from xformer.study.verdicts import Verdict, judge

# Those of the tables come first; the CSV has them all.
COMPARED = (
    Metric("test", "bleu"),
    Metric("dev", "perplexity"),
    Metric("dev", "bleu"),
    Metric("test", "perplexity"),
)
SHOWN = COMPARED[:2]
ONE_SEED = "†"


@dataclass(frozen=True)
class Findings:
    """Differences from the base by metric, agreement with the paper's ranking, and claims."""

    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    agreements: tuple[str, ...] = ()  # those of the notes that compare rankings with the paper's

    @property
    def shown(self) -> tuple[Comparison, ...]:
        """The comparisons that have columns in tables."""
        return tuple(each for each in self.comparisons if each.metric in SHOWN and each.differences)

    @property
    def judged(self) -> tuple[Verdict, ...]:
        """The verdicts on claims whose rows were run."""
        return tuple(each for each in self.verdicts if each.outcome != "not run")

    @property
    def not_run(self) -> tuple[Verdict, ...]:
        """The others."""
        return tuple(each for each in self.verdicts if each.outcome == "not run")


def find(table: Table, claims: Sequence[Claim]) -> Findings:
    """Compare, rank and judge the rows of a table."""

    @cache
    def measured(metric: Metric) -> Measured:
        return Measured(table.rows, metric)

    comparisons = tuple(compare(measured(metric)) for metric in COMPARED)
    found = Findings(comparisons, (), judge(claims, table.rows, measured))
    several = sum(bool(row.finished) for row in table.rows) > 1
    agreements = tuple(_agreements(table, measured)) if several else ()
    notes = (*_baseless(table, measured), *_legend(table, found), *agreements, *_diverged(table))
    return Findings(comparisons, notes if several else (), found.verdicts, agreements)


def _legend(table: Table, found: Findings) -> list[str]:
    lines = []
    if found.shown:
        lines.append(
            f"Differences are from {table.base.removeprefix('table3/')}, ± half a 95 % interval: for other "
            "seeds and, of BLEU, other sentences; p is adjusted (Holm) for all rows of the table "
            "(docs/statistics.md)."
        )
        if any(each.one_seed for shown in found.shown for each in shown.differences.values()):
            lines.append(
                f"{ONE_SEED} one seed, of the row or of the base: its interval trusts the other rows' spread."
            )
    shown = [each for each in found.comparisons if each.metric in SHOWN]
    unknown = {each.pooled.reason for each in shown if isinstance(each.pooled, Inconclusive)}
    if len(unknown) == 1 and all(isinstance(each.pooled, Inconclusive) for each in shown):
        reason = unknown.pop()
        return [f"{reason[0].upper()}{reason[1:]}."]
    return lines + [note for each in shown for note in each.notes]


def _baseless(table: Table, measured: Callable[[Metric], Measured]) -> list[str]:
    """Why no row is compared: differences are from one row, which was not trained, or trained as two."""
    bases = [row for row in table.rows if row.is_base and row.finished]
    if len(bases) == 1 and any(row_name(bases[0]) in measured(metric).samples for metric in SHOWN):
        return []
    if len(bases) > 1:
        several = ", ".join(row.label for row in bases)
        return [
            f"No differences: {several} are different rows that all are {_plainly(table)}, and hence no "
            "picture of them either. Report them from folders of their own."
        ]
    return [
        f"No differences: they would be from {_plainly(table)}, which has no scores here; hence no "
        "picture of them either. Train it along, name another row (xformer report --base ROW), or compare "
        "rows by a claim (--claims FILE, docs/extending.md)."
    ]


def _plainly(table: Table) -> str:
    return table.base if " " in table.base else f"{table.base} without overrides"


def _agreements(table: Table, measured: Callable[[Metric], Measured]) -> list[str]:
    """Rank agreement with the paper, by BLEU and by perplexity: the two may disagree."""
    lines = []
    for metric, printed in ((Metric("dev", "bleu"), "dev_bleu"), (Metric("dev", "perplexity"), "dev_ppl")):
        samples = measured(metric).samples
        pairs = [
            (samples[row_name(row)].mean, float(getattr(row.paper, printed)))
            for row in table.paper_block
            if row.paper and row_name(row) in samples
        ]
        found = spearman([mine for mine, _ in pairs], [theirs for _, theirs in pairs])
        if isinstance(found, Agreement):
            lines.append(
                f"Ranking by {metric.title} against the paper's: Spearman {text.correlation(found.rho)}, "
                f"95 % interval {text.correlation(found.low)} to {text.correlation(found.high)}, "
                f"{found.rows} rows."
            )
    return lines


def _diverged(table: Table) -> list[str]:
    """Rows of which some seeds diverged: what is left of them looks better than the row is."""
    return [
        f"{row.label}: {row.partly_diverged}; figures are of the others, and flatter it."
        for row in table.rows
        if row.partly_diverged
    ]
