"""BLEU from counts: the file that keeps each line's counts, and the scores of lines and of many sums at once.

Shapes: N lines, any leading dimensions `...`; the ten counts are those of `scoring.corpus.statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xformer.files import write_atomic
from xformer.scoring.corpus import NGRAM_ORDER, statistics

COLUMNS = (
    "hypothesis_length",
    "reference_length",
    *(f"matches_{n}" for n in range(1, NGRAM_ORDER + 1)),
    *(f"ngrams_{n}" for n in range(1, NGRAM_ORDER + 1)),
)
_MATCHES, _NGRAMS = slice(2, 2 + NGRAM_ORDER), slice(2 + NGRAM_ORDER, None)
REFERENCE_LENGTH = 1  # the column that two systems on the same references have in common


def counts_file(text_file: Path) -> Path:
    """Where the counts of a file of hypotheses lie: beside it, `test.bleu.csv` for `test.txt`."""
    return text_file.with_suffix(".bleu.csv")


def write_counts(text_file: Path, hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Keep what BLEU counts in each line, so that any sample of lines can be scored without the text."""
    lines = [",".join(COLUMNS)]
    lines += [",".join(map(str, line)) for line in statistics(hypotheses, references).tolist()]
    write_atomic(counts_file(text_file), "\n".join(lines) + "\n")


def read_counts(path: Path) -> NDArray[np.int64]:
    """Read N × 10 counts. Raises OSError, and ValueError where the file holds anything else."""
    with path.open(encoding="utf-8") as file:
        if file.readline().rstrip("\n").split(",") != list(COLUMNS):
            raise ValueError(f"{path.name}: is not a file of counts")
        lines = file.readlines()
    counts = (
        np.loadtxt(lines, dtype=np.int64, delimiter=",", ndmin=2) if lines else np.empty((0, 0), np.int64)
    )
    if counts.size == 0 or counts.shape[1] != len(COLUMNS) or counts.min() < 0:
        raise ValueError(f"{path.name}: is cut short or damaged")
    return counts


def bleu_of_many(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corpus BLEU of many sums of counts [..., 10] → [...]; equals `scoring.corpus.bleu_of` up to rounding.

    0 where a sum has no n-gram of some order, as where it has no match at all.
    """
    return np.where(sums[..., _NGRAMS].all(axis=-1), _bleu(sums), 0.0)


def sentence_bleu(counts_N10: NDArray[np.int64]) -> NDArray[np.float64]:
    """BLEU of each line by itself → [N]; equals sacrebleu's `sentence_bleu` with smoothing `exp`.

    Orders for which a line is too short are left out ("effective order").
    """
    return _bleu(counts_N10)


def _bleu(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Of the orders of which there are n-grams.

    An order without any match counts as half a match, the next such order as a quarter of one, and so on
    (sacrebleu's smoothing `exp`, NIST's mteval-v13a).
    """
    length, reference = counts[..., 0], counts[..., REFERENCE_LENGTH]
    matches, ngrams = counts[..., _MATCHES], counts[..., _NGRAMS]
    there = ngrams > 0
    missed = (matches == 0) & there
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), matches)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(there, np.log(smoothed / ngrams), 0.0)
        log_precision = logs.sum(axis=-1) / there.sum(axis=-1)
        log_brevity = np.minimum(0.0, 1.0 - reference / length)
        score = 100.0 * np.exp(log_precision + log_brevity)
    return np.where(matches.any(axis=-1) & (length > 0), score, 0.0)
