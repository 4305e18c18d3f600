"""What a claim asks of a contrast of rows, and what a contrast answers.

Values are turned so that more is better: a question's `sign` is -1 for metrics of which less is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xformer.study.statistics.contrast import Contrast
from xformer.study.statistics.intervals import Uncertainty, p_equivalent
from xformer.study.statistics.power import Chance, power, power_equivalence


@dataclass(frozen=True)
class Answer:
    """Which side the figures are on, and the chance of figures as clear as these if it were the other."""

    favours: bool
    p: float


@dataclass(frozen=True)
class Above:
    """Is the contrast above a threshold? Two-sided, so that `no` is as hard to say as `yes`."""

    weights: Mapping[str, float]
    sign: int
    threshold: float = 0.0

    @property
    def limit(self) -> str:
        """The threshold in words, in the metric's own direction; none for zero."""
        if not self.threshold:
            return ""
        side = "above" if self.sign > 0 else "below"
        return f", to be {side} {self.sign * self.threshold:+g}".replace("-", "−")

    def answer(self, contrast: Contrast) -> Answer:
        """A test of the contrast against the threshold."""
        beyond = self.sign * contrast.value - self.threshold
        return Answer(beyond > 0, contrast.uncertainty.p_two_sided(beyond))

    def chance(self, contrast: Contrast, alpha: float) -> Chance:
        """The chance of an answer at level α if the truth is what was measured."""
        beyond = self.sign * contrast.value - self.threshold
        return lambda uncertainty: power(beyond, uncertainty, alpha)


@dataclass(frozen=True)
class Within:
    """Is the contrast within ± margin? Yes by two one-sided tests, no by a two-sided one beyond it."""

    weights: Mapping[str, float]
    sign: int
    margin: float

    @property
    def limit(self) -> str:
        """The margin in words."""
        return f", to be within ± {self.margin:g}"

    def answer(self, contrast: Contrast) -> Answer:
        """The one of both tests that the figures speak for."""
        inside = p_equivalent(contrast.value, self.margin, contrast.uncertainty)
        beyond = abs(contrast.value) - self.margin
        if beyond <= 0:
            return Answer(True, inside)
        return Answer(False, contrast.uncertainty.p_two_sided(beyond))

    def chance(self, contrast: Contrast, alpha: float) -> Chance:
        """The chance of an answer at level α if the truth is what was measured."""

        def inside(uncertainty: Uncertainty) -> float:
            return power_equivalence(contrast.value, self.margin, uncertainty, alpha)

        beyond = abs(contrast.value) - self.margin
        return inside if beyond < 0 else lambda uncertainty: power(beyond, uncertainty, alpha)


Question = Above | Within
