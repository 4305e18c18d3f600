"""BLEU of short and of long sentences, from what BLEU counted in each line.

Shapes: N sentences; 10 counts (scoring.corpus.statistics).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.corpus import NGRAM_ORDER, bleu_of
from xformer.scoring.counts import REFERENCE_LENGTH

GROUPS = 6
LEAST = 20  # sentences in a group: BLEU of fewer is mostly chance


@dataclass(frozen=True)
class LengthGroup:
    """The sentences whose reference has `shortest` to `longest` words, as BLEU cuts them, and their BLEU."""

    shortest: int
    longest: int
    sentences: int
    bleu: float


def by_reference_length(counts_N10: NDArray[np.int64]) -> tuple[LengthGroup, ...]:
    """At most `GROUPS` groups of about equally many sentences; none where these are too few for two.

    The groups follow from the references alone, so that all systems on one test set have the same.
    """
    lengths = counts_N10[:, REFERENCE_LENGTH]
    groups = min(GROUPS, len(lengths) // LEAST)
    if groups < 2:
        return ()
    starts = np.unique(np.quantile(lengths, np.arange(groups) / groups, method="lower").astype(np.int64))
    # A group without any sentence of four words has no matches of four: its BLEU would be zero.
    starts = _wide_enough(starts[(starts == starts[0]) | (starts > NGRAM_ORDER)], lengths)
    if len(starts) < 2:
        return ()
    ends = [*(starts[1:] - 1), lengths.max()]
    inside = [(lengths >= start) & (lengths <= end) for start, end in zip(starts, ends, strict=True)]
    return tuple(
        LengthGroup(int(start), int(end), int(chosen.sum()), bleu_of(counts_N10[chosen].sum(axis=0)))
        for start, end, chosen in zip(starts, ends, inside, strict=True)
    )


def _wide_enough(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The starts of groups that have `LEAST` sentences each: many of one length make their neighbours few."""
    kept = [starts[0]]
    for start in starts[1:]:
        before, after = ((lengths >= kept[-1]) & (lengths < start)).sum(), (lengths >= start).sum()
        if min(before, after) >= LEAST:
            kept.append(start)
    return np.array(kept)
