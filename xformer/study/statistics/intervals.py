"""How certain a difference is: its two standard errors, the interval they give, and the p-value.

The seed's part is t-distributed, since its variance is estimated from few runs; the sentences' part is
normal, since hundreds of sentences went into it. At every confidence level the half-widths of the two
parts are added in quadrature:

    h(1 - α) = √( (t_{1-α/2, df} · seeds)² + (z_{1-α/2} · sentences)² )

and the p-value of a distance is the α at which h equals it. So interval and p-value never disagree, and
without the second part the p-value is that of the t-test.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, hypot, log

from scipy import stats
from scipy.optimize import brentq

CONFIDENCE = 0.95
ALPHA = 0.05


@dataclass(frozen=True)
class Uncertainty:
    """Two standard errors of one difference; `sentences` is None where no sentence was looked at."""

    seeds: float
    degrees_of_freedom: float  # a fraction where variances differ
    sentences: float | None = None

    def seeds_half(self, confidence: float = CONFIDENCE) -> float:
        """Half the interval that the seeds alone give."""
        return self._seeds_half(1 - confidence)

    def sentences_half(self, confidence: float = CONFIDENCE) -> float | None:
        """Half the interval that the choice of sentences alone gives; None where it is not known."""
        return None if self.sentences is None else self._sentences_half(1 - confidence)

    def half(self, confidence: float = CONFIDENCE) -> float:
        """Half the interval of both parts together."""
        return self._half(1 - confidence)

    def p_two_sided(self, distance: float) -> float:
        """How surprising an estimate this far from the truth is, to either side."""
        away = abs(distance)
        seeds = 2 * float(stats.t.sf(away / self.seeds, self.degrees_of_freedom))
        if not self.sentences or away == 0:
            return seeds
        # Either part alone is narrower than both, so both p-values are below the one that is sought.
        low = log(max(seeds, 2 * float(stats.norm.sf(away / self.sentences)), 1e-300))
        if self._half(exp(low)) <= away:
            return exp(low)
        return exp(brentq(lambda power: self._half(exp(power)) - away, low, 0.0, xtol=1e-12))

    def p_above(self, distance: float) -> float:
        """How surprising an estimate is that lies this far above the truth, or further."""
        p = self.p_two_sided(distance) / 2
        return p if distance > 0 else 1 - p

    # By α and not by 1 - α, which is 1 for every α below 1e-16.

    def _half(self, alpha: float) -> float:
        return hypot(self._seeds_half(alpha), self._sentences_half(alpha))

    def _seeds_half(self, alpha: float) -> float:
        return float(stats.t.isf(alpha / 2, self.degrees_of_freedom)) * self.seeds

    def _sentences_half(self, alpha: float) -> float:
        return float(stats.norm.isf(alpha / 2)) * (self.sentences or 0.0)


def holm(p_values: Iterable[float]) -> list[float]:
    """Adjust p-values for having looked at all of them (Holm 1979), in their order.

    Rejecting where the result is at most α keeps the chance of any false alarm at α, whatever the
    dependence between the comparisons.
    """
    given = list(p_values)
    order = sorted(range(len(given)), key=given.__getitem__)
    adjusted, highest = [0.0] * len(given), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(given) - rank) * given[index]))
        adjusted[index] = highest
    return adjusted


def p_equivalent(difference: float, margin: float, uncertainty: Uncertainty) -> float:
    """The p-value of two one-sided tests (Schuirmann 1987): the evidence that |difference| < margin.

    At most α exactly where the interval of confidence 1 - 2α lies within ± margin.
    """
    return max(uncertainty.p_above(difference + margin), uncertainty.p_above(margin - difference))
