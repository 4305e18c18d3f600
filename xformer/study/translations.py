"""What two rows made of the same sentences, where they differ most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.counts import REFERENCE_LENGTH
from xformer.study.metric import Metric, counts_of
from xformer.study.run import Run
from xformer.study.sentences import Pair, largest_differences, read_hypotheses
from xformer.study.table import Row

Output = tuple[list[str], NDArray[np.int64]]  # N lines, and their counts [N, 10]


def output_of(run: Run, split: str = "test") -> Output | None:
    """A run's lines on a split with what BLEU counted in each; None where it kept either not."""
    counts = counts_of(run, Metric(split, "bleu"))
    if counts is None:
        return None
    name = {"dev": "valid"}.get(split, split)
    try:
        return read_hypotheses(run.folder / "hypotheses" / f"{name}.txt"), counts
    except OSError:
        return None


def side_by_side(left: Row, rights: Sequence[Row], most: int) -> tuple[tuple[Row, tuple[Pair, ...]], ...]:
    """The first scored run of `left` against that of each other row; rows without are left out.

    Runs scored on other references, which the references' lengths tell, are left out too.
    """
    mine = _first(left)
    if mine is None:
        return ()
    found = []
    for row in rights:
        theirs = _first(row)
        if theirs is None or not np.array_equal(mine[1][:, REFERENCE_LENGTH], theirs[1][:, REFERENCE_LENGTH]):
            continue
        if pairs := largest_differences(mine, theirs, most):
            found.append((row, pairs))
    return tuple(found)


def _first(row: Row) -> Output | None:
    return next((output for run in row.finished if (output := output_of(run)) is not None), None)
