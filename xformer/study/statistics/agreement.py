"""Whether two lists of scores rank the rows alike: Spearman's correlation with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh

import numpy as np
from scipy import stats

from xformer.study.statistics.intervals import CONFIDENCE
from xformer.study.statistics.pooled import Inconclusive

FEWEST = 4


@dataclass(frozen=True)
class Agreement:
    """Spearman's ρ over `rows` rows, and the interval it lies in."""

    rho: float
    low: float
    high: float
    rows: int


def spearman(
    one: Sequence[float], other: Sequence[float], confidence: float = CONFIDENCE
) -> Agreement | Inconclusive:
    """Correlate ranks, equal scores sharing the mean of theirs.

    The interval is Fisher's, with the standard error of Bonett and Wright (2000) for ranks,
    √((1 + ρ²/2) / (n - 3)); a bootstrap would need more rows than twenty, and repeats make ties. ρ = ± 1 has
    an infinite z, so there the interval is that of half the step to the next value that n ranks can have.
    """
    if len(one) != len(other):
        raise ValueError(f"{len(one)} scores against {len(other)}")
    rows = len(one)
    if rows < FEWEST:
        return Inconclusive(f"{rows} rows are too few to compare rankings; {FEWEST} are needed")
    first, second = stats.rankdata(one), stats.rankdata(other)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return Inconclusive("all rows score the same, so there is no ranking")
    rho = float(np.clip(np.corrcoef(first, second)[0, 1], -1.0, 1.0))
    most = 1 - 6 / (rows * (rows**2 - 1))
    centre = atanh(min(max(rho, -most), most))
    half = float(stats.norm.isf((1 - confidence) / 2)) * sqrt((1 + rho**2 / 2) / (rows - 3))
    low, high = tanh(centre - half), tanh(centre + half)
    return Agreement(rho, -1.0 if rho <= -most else low, 1.0 if rho >= most else high, rows)
