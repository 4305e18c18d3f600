"""What a design can see: power, the smallest effect it would have seen, and the seeds that one would need.

Everything is one integral. Given the share q = s²/σ² by which the estimated variance misses the true one
(χ² with df degrees of freedom, divided by df), the half-width h(q) is fixed and the estimate is normal
around the true effect. Without a sentences' part this is the noncentral t distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import hypot, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

from xformer.study.statistics.intervals import ALPHA, Uncertainty

POWER = 0.8
MOST_SEEDS = 1000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)

# The chance of a verdict, given how certain the estimate will be.
Chance = Callable[[Uncertainty], float]


@dataclass(frozen=True)
class Design:
    """A comparison whose number of seeds can be chosen, the same for all rows.

    `deviation` is that between seeds; `spread` is √Σc² of the contrast, √2 for a difference; `rows` is how
    many give degrees of freedom, a fraction where their variances differ.
    """

    deviation: float
    rows: float
    sentences: float | None = None
    spread: float = sqrt(2)

    def with_seeds(self, seeds: int) -> Uncertainty:
        """How certain the contrast is with that many seeds a row, at least two."""
        error = self.deviation * self.spread / sqrt(seeds)
        return Uncertainty(error, self.rows * (seeds - 1), self.sentences)


def power(effect: float, uncertainty: Uncertainty, alpha: float = ALPHA) -> float:
    """The chance that a true effect of this size is told from none, in its true direction."""
    half_Q, sigma = _half_widths(uncertainty, alpha)
    return _mean(stats.norm.cdf((abs(effect) - half_Q) / sigma))


def power_equivalence(
    difference: float, margin: float, uncertainty: Uncertainty, alpha: float = ALPHA
) -> float:
    """The chance that two one-sided tests find a true difference to be within ± margin."""
    half_Q, sigma = _half_widths(uncertainty, 2 * alpha)
    room_Q = np.maximum(margin - half_Q, 0.0)
    inside = stats.norm.cdf((room_Q - difference) / sigma) - stats.norm.cdf((-room_Q - difference) / sigma)
    return _mean(np.where(room_Q > 0, inside, 0.0))


def smallest_effect(uncertainty: Uncertainty, alpha: float = ALPHA, wanted: float = POWER) -> float:
    """The effect that is told from none with the wanted power."""
    most = 2.0 * hypot(uncertainty.half(1 - alpha), uncertainty.half(wanted))
    while power(most, uncertainty, alpha) < wanted:
        most *= 2
    return float(brentq(lambda effect: power(effect, uncertainty, alpha) - wanted, 0.0, most, rtol=1e-10))


def seeds_needed(design: Design, chance: Chance, wanted: float = POWER) -> int | None:
    """The fewest seeds a row that give the wanted chance; None where even a thousand do not.

    A sentences' part does not shrink with seeds, so for small effects there may be no such number.
    """
    low, high = 1, 2  # `low` is not enough
    while chance(design.with_seeds(high)) < wanted:
        if high >= MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(design.with_seeds(middle)) >= wanted else (middle, high)
    return high


def _half_widths(uncertainty: Uncertainty, alpha: float) -> tuple[NDArray[np.float64], float]:
    """The half-widths at the quantiles of the estimated variance [Q], and the estimate's deviation."""
    degrees = uncertainty.degrees_of_freedom
    share_Q = stats.chi2.ppf((_NODES + 1) / 2, degrees) / degrees
    seeds = replace(uncertainty, sentences=None).half(1 - alpha)
    sentences = uncertainty.sentences_half(1 - alpha) or 0.0
    return np.hypot(seeds * np.sqrt(share_Q), sentences), hypot(
        uncertainty.seeds, uncertainty.sentences or 0.0
    )


def _mean(values_Q: NDArray[np.float64]) -> float:
    return float(values_Q @ _WEIGHTS) / 2
