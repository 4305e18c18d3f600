"""How much a corpus score depends on which sentences happen to be in the test set.

Sentences are drawn with replacement, the same for all systems (paired, Koehn 2004), and corpus BLEU is
recomputed for each draw from the counts of its sentences: a draw is a vector of how often each sentence is
in it, so all draws of all systems are one matrix product.

Shapes: N sentences, K systems, R resamples; the last 10 are BLEU's counts (scoring.corpus.statistics).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.corpus import bleu_of
from xformer.scoring.counts import bleu_of_many

RESAMPLES = 2000
SHUFFLES = 10_000
SEED = 1  # the same runs give the same report
_AT_ONCE = 500  # resamples whose weights are in memory together


@dataclass(frozen=True)
class Paired:
    """The difference in BLEU of two systems on one test set, and its two-sided p-value."""

    difference: float
    p: float


def resampled_bleu(
    counts_KN10: NDArray[np.int64], resamples: int = RESAMPLES, seed: int = SEED
) -> NDArray[np.float64]:
    """Corpus BLEU of K systems on each of R resamples of their N common sentences → [R, K]."""
    systems, sentences, width = counts_KN10.shape
    # Sums stay whole numbers below 2^53, so the product is exact in double precision.
    flat = counts_KN10.transpose(1, 0, 2).reshape(sentences, systems * width).astype(np.float64)  # [N, K·10]
    random = np.random.default_rng(seed)
    parts = []
    for start in range(0, resamples, _AT_ONCE):
        drawn = random.integers(sentences, size=(min(_AT_ONCE, resamples - start), sentences))
        parts.append(bleu_of_many((_times(drawn) @ flat).reshape(-1, systems, width)))
    return np.concatenate(parts)


def paired_bootstrap(
    one_N10: NDArray[np.int64],
    other_N10: NDArray[np.int64],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Paired:
    """Test whether two runs' BLEU differ on sentences like these (seeds do not enter).

    The p-value is the share of resamples whose difference lies at least as far from the mean of all as the
    measured one lies from zero: the bootstrap's picture of chance, moved to no difference.
    """
    scores_R2 = resampled_bleu(np.stack([one_N10, other_N10]), resamples, seed)
    differences = scores_R2[:, 0] - scores_R2[:, 1]
    return _paired(one_N10, other_N10, differences - differences.mean())


def approximate_randomisation(
    one_N10: NDArray[np.int64],
    other_N10: NDArray[np.int64],
    shuffles: int = SHUFFLES,
    seed: int = SEED,
) -> Paired:
    """Test the same by exchanging the two outputs of randomly chosen sentences (Riezler and Maxwell 2005)."""
    gap_N10 = (one_N10 - other_N10).astype(np.float64)
    both = (one_N10.sum(axis=0) + other_N10.sum(axis=0)).astype(np.float64)
    random = np.random.default_rng(seed)
    parts = []
    for start in range(0, shuffles, _AT_ONCE):
        keep = random.integers(2, size=(min(_AT_ONCE, shuffles - start), len(one_N10))).astype(np.float64)
        mixed = keep @ gap_N10 + other_N10.sum(axis=0)  # [R, 10]
        parts.append(bleu_of_many(mixed) - bleu_of_many(both - mixed))
    return _paired(one_N10, other_N10, np.concatenate(parts))


def _paired(one: NDArray[np.int64], other: NDArray[np.int64], chance: NDArray[np.float64]) -> Paired:
    difference = bleu_of(one.sum(axis=0)) - bleu_of(other.sum(axis=0))
    # A difference that chance reproduces up to rounding counts as reached.
    reached = int((np.abs(chance) >= abs(difference) - 1e-9).sum())
    return Paired(difference, (reached + 1) / (len(chance) + 1))


def _times(drawn_RN: NDArray[np.int64]) -> NDArray[np.float64]:
    """How often each of N sentences is in each draw [R, N]."""
    draws, sentences = drawn_RN.shape
    shifted = drawn_RN + sentences * np.arange(draws)[:, None]
    times = np.bincount(shifted.ravel(), minlength=draws * sentences)
    return times.reshape(draws, sentences).astype(np.float64)
