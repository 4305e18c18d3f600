"""Single sentences: their BLEU, and those on which two runs differ most.

Shapes: N sentences; 10 counts (scoring.corpus.statistics).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.corpus import NGRAM_ORDER


@dataclass(frozen=True)
class Pair:
    """One sentence as two runs translated it; `line` counts from 1, scores are sentence BLEU."""

    line: int
    left: str
    right: str
    left_bleu: float
    right_bleu: float

    @property
    def difference(self) -> float:
        """The right one's score less the left one's."""
        return self.right_bleu - self.left_bleu


def sentence_bleu(counts_N10: NDArray[np.int64]) -> NDArray[np.float64]:
    """BLEU of each sentence by itself → [N]: sacrebleu's `sentence_bleu` with smoothing `exp`.

    Orders for which a sentence is too short are left out ("effective order"). An order without any match
    counts as half a match, the next such one as a quarter, and so on.
    """
    length, reference = counts_N10[:, 0], counts_N10[:, 1]
    matches, ngrams = counts_N10[:, 2 : 2 + NGRAM_ORDER], counts_N10[:, 2 + NGRAM_ORDER :]
    missed = (matches == 0) & (ngrams > 0)
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=1), matches)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(ngrams > 0, np.log(smoothed / ngrams), 0.0)
        log_precision = logs.sum(axis=1) / (ngrams > 0).sum(axis=1)
        log_brevity = np.minimum(0.0, 1.0 - reference / length)
        scores = 100.0 * np.exp(log_precision + log_brevity)
    return np.where(matches.any(axis=1) & (length > 0), scores, 0.0)


def largest_differences(
    left: tuple[list[str], NDArray[np.int64]], right: tuple[list[str], NDArray[np.int64]], most: int
) -> tuple[Pair, ...]:
    """The sentences whose scores differ most, at most `most`, the largest gap first; equal ones are left out.

    Each side is its N lines and their counts [N, 10]. Sides whose numbers of lines differ give none.
    """
    (left_lines, left_counts), (right_lines, right_counts) = left, right
    if len({len(left_lines), len(right_lines), len(left_counts), len(right_counts)}) != 1:
        return ()
    left_N, right_N = sentence_bleu(left_counts), sentence_bleu(right_counts)
    order = np.argsort(-np.abs(right_N - left_N), kind="stable")[:most]
    return tuple(
        Pair(int(n) + 1, left_lines[n], right_lines[n], float(left_N[n]), float(right_N[n]))
        for n in order
        if abs(right_N[n] - left_N[n]) > 1e-9
    )


def read_hypotheses(path: Path) -> list[str]:
    """The lines of a file of hypotheses, cut at LF only. Raises OSError."""
    text = path.read_bytes().decode("utf-8", "replace")
    return text.removesuffix("\n").split("\n") if text else []
