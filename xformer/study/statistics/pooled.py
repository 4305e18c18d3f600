"""How much a score changes with the seed: one variance for all rows, pooled over those that were repeated.

Three seeds say next to nothing about their own spread; twenty rows of three seeds together give forty
degrees of freedom. The price is one assumption, that the seed moves all rows alike. So each row is held
against the others first: one that varies far more keeps its own variance, apart from theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import stats

UNEVEN = 0.01  # below this p of an F-test, a row varies more than the others


@dataclass(frozen=True)
class Inconclusive:
    """Nothing can be said, and why."""

    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Spread:
    """A variance between seeds, and the degrees of freedom that it was estimated with."""

    variance: float
    degrees_of_freedom: int

    @property
    def deviation(self) -> float:
        """The standard deviation between seeds."""
        return float(np.sqrt(self.variance))


@dataclass(frozen=True)
class Pooled(Spread):
    """The variance between seeds within rows, s² = Σ (n_r - 1) s_r² / Σ (n_r - 1), over `rows` of them.

    `apart` are the rows that vary more, by name, each with a variance of its own.
    """

    rows: int  # with at least two seeds
    apart: Mapping[str, Spread] = field(default_factory=dict)

    def of(self, row: str) -> Spread:
        """The variance that holds for a row."""
        return self.apart.get(row, self)


def pool(rows: Mapping[str, NDArray[np.float64]]) -> Pooled | Inconclusive:
    """Pool the variance of all rows that have at least two scores; the others only use it.

    Rows whose seeds all score the same, such as 0.0 of empty outputs, are no evidence that the seed moves
    the others little, and are left out.
    """
    repeated = {name: scores for name, scores in rows.items() if len(scores) > 1}
    if not repeated:
        return Inconclusive(
            "no row has two seeds, so nothing can be concluded about seeds", "run at least two seeds"
        )
    spreads = {
        name: Spread(float(scores.var(ddof=1)), len(scores) - 1)
        for name, scores in repeated.items()
        if not same_but_for_rounding(scores)
    }
    if not spreads:
        return Inconclusive(
            "every repeated row scores the same with all its seeds, so how far the seed matters is unknown"
        )
    apart: dict[str, Spread] = {}
    # Of two rows it cannot be told which one is the odd one.
    while len(spreads) > 2:
        widest = max(spreads, key=lambda name: spreads[name].variance)
        others = _common(spread for name, spread in spreads.items() if name != widest)
        ratio = spreads[widest].variance / others.variance
        degrees = spreads[widest].degrees_of_freedom, others.degrees_of_freedom
        if float(stats.f.sf(ratio, *degrees)) >= UNEVEN:
            break
        apart[widest] = spreads.pop(widest)
    common = _common(spreads.values())
    return Pooled(common.variance, common.degrees_of_freedom, len(spreads), apart)


def same_but_for_rounding(scores: NDArray[np.float64]) -> bool:
    """Whether numbers are equal up to what adding them up in floating point leaves."""
    return float(np.ptp(scores)) <= 1e-12 * float(np.abs(scores).max())


def _common(spreads: Iterable[Spread]) -> Spread:
    known = list(spreads)
    degrees = sum(each.degrees_of_freedom for each in known)
    return Spread(sum(each.degrees_of_freedom * each.variance for each in known) / degrees, degrees)
