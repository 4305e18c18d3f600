"""One metric over all rows of a table, as samples that the statistics can work with.

Shapes: K runs, N sentences, R resamples; 10 counts (scoring.corpus.statistics).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.counts import REFERENCE_LENGTH
from xformer.study.metric import Decoding, Metric, beyond_numbers, counts_of, value_of
from xformer.study.run import Run
from xformer.study.statistics.bootstrap import resampled_bleu
from xformer.study.statistics.contrast import Contrast, Sample, contrast, matched
from xformer.study.statistics.pooled import Inconclusive, Pooled, pool
from xformer.study.table import Row


class Measured:
    """The scores of every row that has any, by `row_name`, and the variance that they share."""

    def __init__(self, rows: Iterable[Row], metric: Metric) -> None:
        self.metric = metric
        self.rows = {row_name(row): row for row in rows}
        scored = {name: self._scored(row) for name, row in self.rows.items()}
        self._runs = {name: runs for name, runs in scored.items() if runs}

    @cached_property
    def samples(self) -> dict[str, Sample]:
        """The scores of each row that was scored, with its resamples where every run kept its counts."""
        resampled = self._resampled([run for runs in self._runs.values() for run in runs])
        return {
            name: Sample(self._values(runs), _mean([resampled.get(id(run)) for run in runs]))
            for name, runs in self._runs.items()
        }

    @cached_property
    def pooled(self) -> Pooled | Inconclusive:
        """The variance between seeds, over all repeated rows of the table."""
        return pool({name: self._values(runs) for name, runs in self._runs.items()})

    def contrast(self, weights: Mapping[str, float]) -> Contrast | Inconclusive:
        """Σ weight · mean of rows that are in `samples`."""
        if isinstance(self.pooled, Inconclusive):
            return self.pooled
        return contrast(weights, self.samples, self.pooled)

    def decoded(
        self, name: str, weights: Mapping[str, float], decodings: Mapping[str, Decoding]
    ) -> Contrast | Inconclusive | None:
        """Σ weight · score of the same runs, decoded in several ways; None where none was scored in all."""
        all_ways = [
            run
            for run in self.rows[name].finished
            if all(value_of(run, self.metric, decoding) is not None for decoding in decodings.values())
        ]
        if not all_ways:
            return None
        return matched(weights, {way: self._sample(all_ways, each) for way, each in decodings.items()})

    def _sample(self, runs: Sequence[Run], decoding: Decoding) -> Sample:
        resampled = self._resampled(runs, decoding)
        return Sample(self._values(runs, decoding), _mean([resampled.get(id(run)) for run in runs]))

    def _scored(self, row: Row) -> list[Run]:
        """The runs that have the figure; none where one was scored and it is beyond all numbers."""
        if any(beyond_numbers(run, self.metric) for run in row.finished):
            return []
        return [run for run in row.finished if value_of(run, self.metric) is not None]

    def _values(self, runs: Sequence[Run], decoding: Decoding = ()) -> NDArray[np.float64]:
        return np.array([value_of(run, self.metric, decoding) for run in runs], dtype=np.float64)

    def _resampled(self, runs: Sequence[Run], decoding: Decoding = ()) -> dict[int, NDArray[np.float64]]:
        """Each run's BLEU on the resamples [R], whose draws depend on the number of sentences only."""
        kept = [
            (id(run), counts) for run in runs if (counts := counts_of(run, self.metric, decoding)) is not None
        ]
        if not kept:
            return {}
        # One test set has one list of lengths of its references: another one cannot be paired with it.
        lengths = kept[0][1][:, REFERENCE_LENGTH]
        kept = [each for each in kept if np.array_equal(each[1][:, REFERENCE_LENGTH], lengths)]
        scores_RK = resampled_bleu(np.stack([counts for _, counts in kept]))
        return {key: scores_RK[:, number] for number, (key, _) in enumerate(kept)}


def row_name(row: Row) -> str:
    """The experiment and its overrides, with the hash where these do not tell rows apart."""
    words = (row.experiment, *row.overrides)
    return " ".join((*words, f"#{row.row_hash[:8]}") if row.twin and row.row_hash else words)


def _mean(resampled: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
    known = [each for each in resampled if each is not None]
    return np.mean(known, axis=0) if known and len(known) == len(resampled) else None
