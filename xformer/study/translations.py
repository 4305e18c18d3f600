"""What two rows made of the same sentences, where they differ most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.counts import REFERENCE_LENGTH
from xformer.study.metric import Decoding, Metric, counts_of, measured_of
from xformer.study.records import Scores
from xformer.study.run import Run
from xformer.study.sentences import Pair, largest_differences, read_hypotheses
from xformer.study.table import Row

Output = tuple[list[str], NDArray[np.int64]]  # N lines, and their counts [N, 10]


def scores_of(run: Run, split: str) -> Scores | None:
    """A run's scores on a split, decoded as the run is; None where it was not scored."""
    places = (measured_of(run, Metric(split, "bleu"), decoding) for decoding in _own(run))
    return next((found[0] for found in places if found), None)


def output_of(run: Run, split: str = "test") -> Output | None:
    """A run's lines on a split with what BLEU counted in each; None where it kept either not."""
    metric = Metric(split, "bleu")
    for decoding in _own(run):
        found, counts = measured_of(run, metric, decoding), counts_of(run, metric, decoding)
        if found is None or counts is None:
            continue
        try:
            lines = read_hypotheses(found[1])
        except OSError:
            continue
        if len(lines) == len(counts):
            return lines, counts
    return None


def first_output(row: Row) -> Output | None:
    """The test output of the first run of a row that kept it."""
    return next((output for run in row.finished if (output := output_of(run)) is not None), None)


def side_by_side(left: Row, rights: Sequence[Row], most: int) -> tuple[tuple[Row, tuple[Pair, ...]], ...]:
    """The first scored run of `left` against that of each other row; rows without are left out.

    Runs scored on other references, which the references' lengths tell, are left out too.
    """
    mine = first_output(left)
    if mine is None:
        return ()
    found = []
    for row in rights:
        theirs = first_output(row)
        if theirs is None or not np.array_equal(mine[1][:, REFERENCE_LENGTH], theirs[1][:, REFERENCE_LENGTH]):
            continue
        if pairs := largest_differences(mine, theirs, most):
            found.append((row, pairs))
    return tuple(found)


def _own(run: Run) -> tuple[Decoding, ...]:
    """Where the run's own decoding is kept: with its result, or by `xformer evaluate` in `evaluations/`."""
    return ((), (("beam", run.config.decode.beam),)) if run.config else ((),)
