"""Single sentences: their BLEU, and those on which two runs differ most.

Shapes: N sentences; 10 counts (scoring.corpus.statistics).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.counts import sentence_bleu


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
