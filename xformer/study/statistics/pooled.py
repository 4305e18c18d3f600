"""How much a score changes with the seed: one variance for all rows, pooled over those that were repeated.

Three seeds say next to nothing about their own spread; twenty rows of three seeds together give forty
degrees of freedom. The price is one assumption, that the seed moves all rows alike, which `uneven` tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

UNEVEN = 0.01  # below this p, the spreads of the rows differ more than chance explains


@dataclass(frozen=True)
class Inconclusive:
    """Nothing can be said, and why."""

    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Pooled:
    """The variance between seeds within rows, s² = Σ (n_r - 1) s_r² / Σ (n_r - 1)."""

    variance: float
    degrees_of_freedom: int
    rows: int  # with at least two seeds

    @property
    def deviation(self) -> float:
        """The standard deviation between seeds."""
        return float(np.sqrt(self.variance))


def pool(rows: Iterable[NDArray[np.float64]]) -> Pooled | Inconclusive:
    """Pool the variance of all rows that have at least two scores; the others only use it."""
    repeated = [scores for scores in rows if len(scores) > 1]
    if not repeated:
        return Inconclusive(
            "no row has two seeds, so nothing can be concluded about seeds", "run at least two seeds"
        )
    degrees = sum(len(scores) - 1 for scores in repeated)
    squares = sum(float(((scores - scores.mean()) ** 2).sum()) for scores in repeated)
    scale = max(float(np.abs(scores).max()) for scores in repeated)
    # Rounding alone leaves about 1e-32 of the square of the scores.
    if squares <= 1e-24 * scale**2:
        return Inconclusive(
            "every repeated row scores the same with all its seeds, so how far the seed matters is unknown"
        )
    return Pooled(squares / degrees, degrees, len(repeated))


def uneven(rows: Mapping[str, NDArray[np.float64]]) -> str | None:
    """The row whose spread stands out, where spreads differ more than chance explains; None otherwise.

    Bartlett's test of equal variances over rows with at least two scores that are not all equal.
    """
    spread = {name: scores for name, scores in rows.items() if len(scores) > 1 and np.ptp(scores) > 0}
    if len(spread) < 2 or float(stats.bartlett(*spread.values()).pvalue) >= UNEVEN:
        return None
    return max(spread, key=lambda name: float(spread[name].var(ddof=1)))
