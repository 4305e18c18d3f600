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
    starts = np.unique(np.quantile(lengths, np.arange(groups) / groups, method="lower"))
    # A group without any sentence of four words has no matches of four: its BLEU would be zero.
    starts = starts[(starts == starts[0]) | (starts > NGRAM_ORDER)]
    ends = [*(starts[1:] - 1), lengths.max()]
    inside = [(lengths >= start) & (lengths <= end) for start, end in zip(starts, ends, strict=True)]
    return tuple(
        LengthGroup(int(start), int(end), int(chosen.sum()), bleu_of(counts_N10[chosen].sum(axis=0)))
        for start, end, chosen in zip(starts, ends, inside, strict=True)
    )
