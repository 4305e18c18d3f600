"""Studies with known truth, thousands at once; docs/statistics.md prints what they come to.

    python -m tests.study.statistics.simulations

Seeds are fixed, so every figure is reproducible to the digit. A share of 10,000 trials has a standard
error of 0.2 percentage points at 5 %, and at most 0.5 at 50 %. Every comparison of a trial is counted in the
shares "per comparison"; those of one trial share the base's runs, which makes that error somewhat larger.

Shapes: T trials, R rows of which the first is the base, S seeds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

from xformer.study.statistics.contrast import Sample, contrast
from xformer.study.statistics.intervals import Uncertainty, holm, p_equivalent
from xformer.study.statistics.pooled import UNEVEN, Pooled, pool
from xformer.study.statistics.power import power

TRIALS, DEVIATION = 10_000, 0.3


@dataclass(frozen=True)
class Studies:
    """Scores of many studies of one design; `effects` are the rows' true distances from the base."""

    scores_TRS: np.ndarray
    single: int = 0  # how many rows at the end count with their first seed only

    @classmethod
    def draw(cls, rows: int, seeds: int, effects: dict[int, float] | None = None, single: int = 0,
             seed: int = 1, wild: float = 1.0) -> Studies:  # fmt: skip
        """Normal scores around 60 with the same deviation in all rows, the last one's `wild` times that."""
        means_R = np.full(rows, 60.0)
        for row, effect in (effects or {}).items():
            means_R[row] += effect
        noise_TRS = np.random.default_rng(seed).normal(0, DEVIATION, (TRIALS, rows, seeds))
        noise_TRS[:, -1] *= wild
        return cls(means_R[:, None] + noise_TRS, single)

    @property
    def seeds_R(self) -> np.ndarray:
        """How many seeds each row has."""
        _, rows, seeds = self.scores_TRS.shape
        return np.where(np.arange(rows) < rows - self.single, seeds, 1)

    def p_values(self) -> np.ndarray:
        """Two-sided, of each row but the base against it [T, R - 1]."""
        repeated = len(self.seeds_R) - self.single
        seeds = self.scores_TRS.shape[2]
        own_TR = np.zeros(self.scores_TRS.shape[:2])
        own_TR[:, :repeated] = self.scores_TRS[:, :repeated].var(axis=2, ddof=1)
        together_TR = np.tile(np.arange(len(self.seeds_R)) < repeated, (len(own_TR), 1))
        while (odd_T := _odd_one(own_TR, together_TR, seeds)).any():
            widest_T = np.where(together_TR, own_TR, -1).argmax(axis=1)
            together_TR[odd_T, widest_T[odd_T]] = False
        apart_TR = ~together_TR
        apart_TR[:, repeated:] = False
        rows_T = together_TR.sum(axis=1)
        common_T = np.where(together_TR, own_TR, 0).sum(axis=1) / rows_T
        means_TR = np.where(self.seeds_R == 1, self.scores_TRS[:, :, 0], self.scores_TRS.mean(axis=2))
        # Welch's test, of the variance that rows share and of those that stand apart.
        shared_TR = np.where(apart_TR, 0, common_T[:, None] / self.seeds_R)
        alone_TR = np.where(apart_TR, own_TR / self.seeds_R, 0)
        shared_TR, alone_TR, base_T1 = shared_TR[:, 1:] + shared_TR[:, :1], alone_TR[:, 1:], alone_TR[:, :1]
        variance_TR = shared_TR + alone_TR + base_T1
        freedom_TR = variance_TR**2 / (
            shared_TR**2 / (rows_T * (seeds - 1))[:, None] + (alone_TR**2 + base_T1**2) / (seeds - 1)
        )
        t_TR = np.abs(means_TR[:, 1:] - means_TR[:, :1]) / np.sqrt(variance_TR)
        p_TR = 2 * stats.t.sf(t_TR, freedom_TR)
        for trial in range(20):  # the arrays above do what the package does
            np.testing.assert_allclose(p_TR[trial], self.p_values_of_the_package(trial), rtol=1e-9)
        return p_TR

    def p_values_of_the_package(self, trial: int) -> list[float]:
        """The same for one trial, row by row."""
        rows = {
            str(row): Sample(scores[: self.seeds_R[row]]) for row, scores in enumerate(self.scores_TRS[trial])
        }
        pooled = pool({name: row.scores for name, row in rows.items()})
        assert isinstance(pooled, Pooled)
        found = (contrast({name: 1, "0": -1}, rows, pooled) for name in list(rows)[1:])
        return [each.uncertainty.p_two_sided(each.value) for each in found]


def _odd_one(own_TR: np.ndarray, together_TR: np.ndarray, seeds: int) -> np.ndarray:
    """The studies in which the row that varies most varies more than the others together do [T]."""
    rows_T = together_TR.sum(axis=1)
    widest_T = np.where(together_TR, own_TR, -1).max(axis=1)
    others_T = (np.where(together_TR, own_TR, 0).sum(axis=1) - widest_T) / np.maximum(rows_T - 1, 1)
    p_T = stats.f.sf(widest_T / others_T, seeds - 1, (seeds - 1) * np.maximum(rows_T - 1, 1))
    return (p_T < UNEVEN) & (rows_T > 2)


def false_alarms_beside(rows: int, seeds: int, wild: float, seed: int = 1) -> tuple[float, float]:
    """The same beside a row that varies `wild` times as much: of that row, and of all others."""
    called_TR = Studies.draw(rows, seeds, seed=seed, wild=wild).p_values() <= 0.05
    return float(called_TR[:, -1].mean()), float(called_TR[:, :-1].mean())


def false_alarms(rows: int, seeds: int, single: int = 0, seed: int = 1) -> float:
    """The share of comparisons called different at 5 % where none is."""
    return float((Studies.draw(rows, seeds, single=single, seed=seed).p_values() <= 0.05).mean())


def family_false_alarms(rows: int, seeds: int, seed: int = 1) -> tuple[float, float]:
    """The share of studies with any false alarm: of the plain p-values, and of Holm's."""
    p_TR = Studies.draw(rows, seeds, seed=seed).p_values()
    adjusted = [min(holm(p_R)) for p_R in p_TR.tolist()]
    return float((p_TR.min(axis=1) <= 0.05).mean()), float((np.array(adjusted) <= 0.05).mean())


def seen(rows: int, seeds: int, effect: float, seed: int = 1) -> tuple[float, float]:
    """The share of studies that see an effect of the second row, and the share that `power` predicts."""
    found = float((Studies.draw(rows, seeds, {1: effect}, seed=seed).p_values()[:, 0] <= 0.05).mean())
    return found, power(effect, Uncertainty(DEVIATION * sqrt(2 / seeds), rows * (seeds - 1)))


def false_equivalences(rows: int, seeds: int, margin: float, seed: int = 1, trials: int = 2000) -> float:
    """The share of studies that call a row equivalent whose true difference is the margin itself."""
    random = np.random.default_rng(seed)
    error, degrees = DEVIATION * sqrt(2 / seeds), rows * (seeds - 1)
    differences = random.normal(margin, error, trials)
    errors = error * np.sqrt(random.chisquare(degrees, trials) / degrees)
    found = (
        p_equivalent(difference, margin, Uncertainty(estimated, degrees)) <= 0.05
        for difference, estimated in zip(differences, errors, strict=True)
    )
    return sum(found) / trials


def bootstrap_over_seeds(seeds: int, seed: int = 1, trials: int = TRIALS) -> float:
    """What must not be done: the false alarms of a 95 % percentile bootstrap over the seeds of two rows.

    All resamples are enumerated, seeds^seeds a row, so that nothing of this is due to their number.
    """
    scores_TRS = np.random.default_rng(seed).normal(0, DEVIATION, (trials, 2, seeds))
    drawn = np.array(list(itertools.product(range(seeds), repeat=seeds)))
    means_TRB = scores_TRS[:, :, drawn].mean(axis=-1)
    differences = (means_TRB[:, 0, :, None] - means_TRB[:, 1, None, :]).reshape(trials, -1)
    low, high = np.quantile(differences, [0.025, 0.975], axis=1)
    return float(((low > 0) | (high < 0)).mean())


def coverage(
    rows: int, seeds: int, sentences: float, interaction: float, seed: int = 1
) -> tuple[float, float, float]:
    """How often three 95 % intervals hold the true difference: seeds alone, sentences alone, both parts.

    A score is row + seed + row × these sentences + seed × these sentences; the last two have the standard
    deviations `sentences` and `interaction` over test sets of this size. What the bootstrap sees of a row's
    mean is their variance together, the second divided by the seeds.
    """
    random = np.random.default_rng(seed)
    own = random.normal(0, sentences, (TRIALS, rows, 1))
    scores_TRS = own + random.normal(0, np.hypot(DEVIATION, interaction), (TRIALS, rows, seeds))
    degrees = rows * (seeds - 1)
    errors_T = np.sqrt(scores_TRS.var(axis=2, ddof=1).mean(axis=1) * 2 / seeds)
    away_T = np.abs(scores_TRS[:, 1].mean(axis=1) - scores_TRS[:, 0].mean(axis=1))
    seeds_T = stats.t.ppf(0.975, degrees) * errors_T
    sentences_T = np.full(TRIALS, stats.norm.ppf(0.975) * sqrt(2 * (sentences**2 + interaction**2 / seeds)))
    alone, other = (away_T <= seeds_T).mean(), (away_T <= sentences_T).mean()
    return float(alone), float(other), float((away_T <= np.hypot(seeds_T, sentences_T)).mean())


def main() -> None:
    """Print every figure that docs/statistics.md quotes."""
    print("false alarms per comparison at 5 %, no true difference, five random seeds")
    for rows, seeds, single in (
        (2, 3, 0),
        (6, 3, 0),
        (20, 3, 0),
        (2, 5, 0),
        (6, 5, 0),
        (20, 5, 0),
        (6, 3, 2),
    ):
        shares = [false_alarms(rows, seeds, single, seed) for seed in range(1, 6)]
        extra = f" ({single} of them with one)" if single else ""
        print(f"  {rows} rows, {seeds} seeds{extra}: " + ", ".join(f"{share:.2%}" for share in shares))
    print("the same beside a row that varies more, 3 seeds: of that row, of the others")
    for rows in (6, 20):
        for wild in (2.0, 3.3, 6.7, 17.0):
            own, others = false_alarms_beside(rows, 3, wild)
            print(f"  {rows} rows, one of {wild} times the deviation: {own:.1%}, {others:.2%}")
    print("studies with any false alarm: plain, after Holm")
    for rows, seeds in ((6, 3), (20, 3), (20, 5)):
        plain, adjusted = family_false_alarms(rows, seeds)
        print(f"  {rows} rows, {seeds} seeds: {plain:.1%}, {adjusted:.2%}")
    print("a true effect, in standard deviations between seeds, is seen: simulated, predicted")
    for rows, seeds, effect in (
        (2, 3, 3.0),
        (6, 3, 2.0),
        (20, 3, 2.0),
        (20, 3, 2.34),
        (6, 5, 2.0),
        (20, 5, 1.0),
    ):
        found, predicted = seen(rows, seeds, effect * DEVIATION)
        print(f"  {rows} rows, {seeds} seeds, effect {effect}: {found:.1%}, {predicted:.1%}")
    print("called equivalent with a true difference of exactly the margin (2,000 trials)")
    for rows, seeds in ((2, 3), (20, 3)):
        print(f"  {rows} rows, {seeds} seeds: {false_equivalences(rows, seeds, 1.5):.2%}")
    print("false alarms of a percentile bootstrap over the seeds of two rows (not used)")
    for seeds in (3, 4):
        print(f"  {seeds} seeds: {bootstrap_over_seeds(seeds, trials=2000 if seeds > 3 else TRIALS):.1%}")
    print("95 % intervals that hold the true difference, 6 rows, 3 seeds: seeds, sentences, both")
    for sentences, interaction in ((0.0, 0.0), (0.3, 0.0), (0.3, 0.3), (0.1, 0.5), (1.0, 0.3)):
        shares = coverage(6, 3, sentences, interaction)
        label = f"sentences {sentences}, seed × sentences {interaction}"
        print(f"  {label}: " + ", ".join(f"{share:.1%}" for share in shares))


if __name__ == "__main__":
    main()
