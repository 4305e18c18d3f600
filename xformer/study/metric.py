"""Metrics by name (`test_bleu`, `long_perplexity`), and where a run folder keeps their figures.

`dev` and `test` are in `result.json`. Any other split, and any other way of decoding, is in a file of
`evaluations/`, which `xformer evaluate` writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xformer.config import schema, splits
from xformer.scoring.corpus import bleu_of
from xformer.scoring.counts import counts_file, read_counts
from xformer.study.records import EvaluationFile, ResultFile, Scores, UnreadableError, read_evaluation
from xformer.study.run import Run
from xformer.study.table import Row, Summary

_TITLES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "perplexity": "PPL"}
_LOWER_IS_BETTER = ("ter", "perplexity")

# Changes of decoding by key of `decode.`, in the order of `schema.DECODING`; none for the run's own.
Decoding = tuple[tuple[str, int | float], ...]


@dataclass(frozen=True)
class Metric:
    """One score on one split."""

    split: str
    score: str

    @property
    def name(self) -> str:
        """What claims and CSV columns call it."""
        return f"{self.split}_{self.score}"

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.split} {_TITLES[self.score]}"

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if self.score in _LOWER_IS_BETTER else 1

    @classmethod
    def named(cls, name: str) -> Metric:
        """Read a name. Raises ValueError with what is allowed."""
        split, _, score = name.rpartition("_")
        if not split or score not in _TITLES:
            raise ValueError(f"{name} is no metric: SPLIT_SCORE, with a SCORE of {', '.join(_TITLES)}")
        return cls(split, score)


def value_of(run: Run, metric: Metric, decoding: Decoding = ()) -> float | None:
    """The figure of a run; None where it was not measured."""
    found = measured_of(run, metric, decoding)
    value: float | None = getattr(found[0], metric.score) if found else None
    return value


def beyond_numbers(run: Run, metric: Metric) -> bool:
    """Whether a run was scored and has no such figure: an infinite perplexity, which JSON cannot say.

    To leave such a run out of a mean would count the worst of all outcomes as the best.
    """
    found = measured_of(run, metric, ())
    return metric.score == "perplexity" and found is not None and found[0].perplexity is None


def mean_of(row: Row, metric: Metric) -> Summary | None:
    """The mean over a row's seeds, of dev or test; None where no run has the figure, or one's is infinite."""
    if any(beyond_numbers(run, metric) for run in row.finished):
        return None

    def figure(result: ResultFile) -> float | None:
        scores: Scores | None = getattr(result, metric.split)
        value: float | None = getattr(scores, metric.score) if scores else None
        return value

    return row.over_seeds(figure)


def counts_of(run: Run, metric: Metric, decoding: Decoding = ()) -> NDArray[np.int64] | None:
    """What BLEU counted in each line [N, 10]; None where it is not kept or does not give the run's BLEU."""
    found = measured_of(run, metric, decoding)
    if metric.score != "bleu" or found is None:
        return None
    scores, text_file = found
    try:
        counts = read_counts(counts_file(text_file))
    except (OSError, ValueError):
        return None
    same = abs(bleu_of(counts.sum(axis=0)) - scores.bleu) < 1e-6
    return counts if same and scores.sentences in (None, len(counts)) else None


def splits_of(run: Run) -> tuple[str, ...]:
    """Everything that a run was scored on with its own decoding, by name."""
    own = {split for split in splits.SCORED if run.result and getattr(run.result, split)}
    return tuple(sorted(own | {split for found in evaluations_of(run) for split in found[0].splits}))


def how_to_measure(metric: Metric, decoding: Decoding) -> str:
    """The command that would give the figure."""
    name, joined, count = splits.in_files(metric.split).partition(".join")
    testset, _, pair = name.partition(".")
    if pair:  # sacrebleu's names, as `xformer evaluate` puts them together
        text = f" --testset {testset} --langpair {pair}"
    else:
        text = "" if name == "test" and not joined else f" --split {name}"
    text += f" --join {count}" if joined else ""
    options = "".join(f" --{key.replace('_', '-')} {value:g}" for key, value in decoding)
    return f"xformer evaluate RUN{text}{options}"


def measured_of(run: Run, metric: Metric, decoding: Decoding) -> tuple[Scores, Path] | None:
    """The scores and the file of hypotheses that they are of."""
    split = splits.in_files(metric.split)
    if not decoding and metric.split in splits.SCORED:
        own: Scores | None = getattr(run.result, metric.split) if run.result else None
        return (own, run.folder / "hypotheses" / f"{split}.txt") if own else None
    for found, path in evaluations_of(run, decoding):
        if split in found.splits:
            return found.splits[split], path.with_suffix(f".{split}.txt")
    return None


def evaluations_of(run: Run, decoding: Decoding = ()) -> Iterator[tuple[EvaluationFile, Path]]:
    """Those of the finished run that were decoded as it is, but for the changes of `decoding`."""
    if run.config is None:
        return
    changes = dict(decoding)
    wanted = tuple(changes.get(key, getattr(run.config.decode, key)) for key in schema.DECODING)
    yield from ((found, path) for found, path in _evaluations(run) if found.decoding == wanted)


def all_evaluations(run: Run) -> Iterator[tuple[EvaluationFile, Decoding]]:
    """All of the finished run, each with what its decoding changes."""
    if run.config is None:
        return
    own = tuple(getattr(run.config.decode, key) for key in schema.DECODING)
    for found, _ in _evaluations(run):
        ways = zip(schema.DECODING, found.decoding, own, strict=True)
        yield found, tuple((key, theirs) for key, theirs, ours in ways if theirs != ours)


def _evaluations(run: Run) -> Iterator[tuple[EvaluationFile, Path]]:
    """Files that cannot be read are passed over, and those of weights that the run has since left behind."""
    last = run.result.updates if run.result else None
    for path in sorted((run.folder / "evaluations").glob("[!.]*.json")):
        try:
            found = read_evaluation(path)
        except UnreadableError:
            continue
        if found is not None and (None in (last, found.update) or found.update == last):
            yield found, path
