"""Every row of a table against the base, with all that may and may not be concluded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from xformer.study.measured import Measured, row_name
from xformer.study.metric import Metric
from xformer.study.statistics.contrast import Contrast
from xformer.study.statistics.intervals import Uncertainty, holm
from xformer.study.statistics.pooled import Inconclusive, Pooled
from xformer.study.statistics.power import smallest_effect
from xformer.study.table import Row
from xformer.wording import counted


@dataclass(frozen=True)
class Difference:
    """A row's mean less the base's, and the p-value after Holm over all rows of the table."""

    contrast: Contrast
    p: float
    p_holm: float
    one_seed: bool  # of the row or of the base, whose own spread is then not known


@dataclass(frozen=True)
class Comparison:
    """One metric: the differences by row name, or why there are none."""

    metric: Metric
    differences: dict[str, Difference]
    pooled: Pooled | Inconclusive

    def of(self, row: Row) -> Difference | None:
        """The difference of a row; None for the base and for rows without scores."""
        return self.differences.get(row_name(row))

    @property
    def reach(self) -> float:
        """How far bars around zero go: one row that failed should not press all others onto the line."""
        ends = [
            abs(each.contrast.value) + each.contrast.uncertainty.half() for each in self.differences.values()
        ]
        return min(max(ends), 2 * median(ends)) if ends else 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the differences rest on, how small a one could have been seen, and where care is due."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        title = self.metric.title
        if isinstance(self.pooled, Inconclusive):
            yield f"{title}: {self.pooled.reason}."
            return
        yield (
            f"{title}: standard deviation between seeds {self.pooled.deviation:.2g}, pooled over "
            f"{counted(self.pooled.rows, 'row')} "
            f"({counted(self.pooled.degrees_of_freedom, 'degree')} of freedom)."
        )
        if self.differences:
            yield f"{title}: {self._visible()}"
        if self.metric.score == "bleu" and any(
            each.contrast.uncertainty.sentences is None for each in self.differences.values()
        ):
            yield f"{title}: where runs kept no counts of their sentences, the interval is the seeds' alone."
        for name, spread in self.pooled.apart.items():
            yield (
                f"{title}: {name} varies more with the seed than the others do (standard deviation "
                f"{spread.deviation:.2g}); it is judged by its own spread, and they without it."
            )

    def _visible(self) -> str:
        errors = [each.contrast.uncertainty for each in self.differences.values()]
        known = [each.sentences for each in errors if each.sentences is not None]
        typical = Uncertainty(
            median(each.seeds for each in errors),
            median(each.degrees_of_freedom for each in errors),
            median(known) if known else None,
        )
        one, all_of_them = smallest_effect(typical), smallest_effect(typical, alpha=0.05 / len(errors))
        return (
            f"a true difference of {one:.2g} would be seen with a chance of 80 % in a single comparison, "
            f"one of {all_of_them:.2g} among all {len(errors)} of the table."
        )


def compare(measured: Measured) -> Comparison:
    """Compare all rows with the base; empty where the table has no base, or more than one."""
    samples, pooled = measured.samples, measured.pooled
    bases = [name for name in samples if measured.rows[name].is_base]
    if isinstance(pooled, Inconclusive) or len(bases) != 1:
        return Comparison(measured.metric, {}, pooled)
    (base,) = bases
    found: dict[str, tuple[Contrast, bool]] = {}
    for name, sample in samples.items():
        difference = measured.contrast({name: 1.0, base: -1.0})
        if name != base and isinstance(difference, Contrast):
            found[name] = difference, min(sample.seeds, samples[base].seeds) == 1
    p_values = [each.uncertainty.p_two_sided(each.value) for each, _ in found.values()]
    return Comparison(
        measured.metric,
        {
            name: Difference(each, p, adjusted, one_seed)
            for (name, (each, one_seed)), p, adjusted in zip(
                found.items(), p_values, holm(p_values), strict=True
            )
        },
        pooled,
    )
