"""Differences and other contrasts of rows: Σ c_r · (mean of row r over its seeds), with its uncertainty.

Rows are treated as unpaired even where they share seeds: the same number starts other weights, other
dropout masks and another order of the same random stream in another model, so that runs of equal seed are
no more alike than any two. Where they were alike, unpaired errs on the side of caution. The exception is
one set of runs scored in two ways, for which there is `matched`.

Shapes: R resamples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from xformer.study.statistics.intervals import Uncertainty
from xformer.study.statistics.pooled import Inconclusive, Pooled


@dataclass(frozen=True)
class Sample:
    """The scores of one row, one a seed, and their mean on each resample of the sentences [R], if known."""

    scores: NDArray[np.float64]
    resampled: NDArray[np.float64] | None = None

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.scores.mean())

    @property
    def seeds(self) -> int:
        """How many."""
        return len(self.scores)


@dataclass(frozen=True)
class Contrast:
    """An estimate and how certain it is."""

    value: float
    uncertainty: Uncertainty

    @property
    def interval(self) -> tuple[float, float]:
        """Of 95 %, both parts together."""
        half = self.uncertainty.half()
        return self.value - half, self.value + half


def contrast(weights: Mapping[str, float], rows: Mapping[str, Sample], pooled: Pooled) -> Contrast:
    """Σ c_r · mean_r, its standard error between seeds √(Σ c_r² s_r² / n_r), and that over sentences.

    s_r² is the pooled variance, and its own for a row that stands apart. Of several variances the sum has
    the degrees of freedom of Welch (1947) and Satterthwaite (1946).
    """
    value = sum(weight * rows[name].mean for name, weight in weights.items())
    variance, degrees = welch(
        {name: weight**2 / rows[name].seeds for name, weight in weights.items()}, pooled
    )
    return Contrast(value, Uncertainty(sqrt(variance), degrees, _over_sentences(weights, rows)))


def welch(shares: Mapping[str, float], pooled: Pooled) -> tuple[float, float]:
    """Σ share_r · s_r², and its degrees of freedom; exactly those of s² where no row stands apart."""
    of_each: dict[str, tuple[float, float]] = {}  # under "" what the pooled variance gives
    for name, share in shares.items():
        spread, key = pooled.of(name), name if name in pooled.apart else ""
        before, _ = of_each.get(key, (0.0, 0.0))
        of_each[key] = before + share * spread.variance, spread.degrees_of_freedom
    if len(of_each) == 1:
        return next(iter(of_each.values()))
    total = sum(variance for variance, _ in of_each.values())
    return total, total**2 / sum(variance**2 / degrees for variance, degrees in of_each.values())


def matched(weights: Mapping[str, float], scorings: Mapping[str, Sample]) -> Contrast | Inconclusive:
    """Σ weight · score of several scorings of the same runs, in the same order: a one-sample t-test.

    Of two with the weights 1 and -1, the paired t-test.
    """
    values = np.sum([weight * scorings[name].scores for name, weight in weights.items()], axis=0)
    if len(values) < 2:
        return Inconclusive(
            "one run was scored in every way, so nothing can be concluded about seeds",
            "run at least two seeds",
        )
    error = float(values.std(ddof=1)) / sqrt(len(values))
    # Rounding leaves about 1e-16 of the scores that were added up, however small their sum.
    largest = max(float(np.abs(weight * scorings[name].scores).max()) for name, weight in weights.items())
    if error <= 1e-12 * largest:
        return Inconclusive(
            "the difference is the same with every seed, so how far the seed matters is unknown"
        )
    sentences = _over_sentences(weights, scorings)
    return Contrast(float(values.mean()), Uncertainty(error, len(values) - 1, sentences))


def _over_sentences(weights: Mapping[str, float], rows: Mapping[str, Sample]) -> float | None:
    """The standard deviation of the contrast over resamples, which are the same for every row."""
    total: NDArray[np.float64] | float = 0.0
    for name, weight in weights.items():
        resampled = rows[name].resampled
        if resampled is None:
            return None
        total = total + weight * resampled
    return float(np.std(total, ddof=1))
