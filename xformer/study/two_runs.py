"""Two runs against one another: what differs in their configuration, their scores, and their sentences.

Seeds do not enter: a difference that both tests call real may still be one between two seeds. Rows with
several seeds are compared by `xformer report`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xformer.config import schema, splits
from xformer.config.differences import Difference, differences
from xformer.errors import UserError
from xformer.runs.folder import RunFolder
from xformer.scoring.counts import REFERENCE_LENGTH
from xformer.study.collect import collect
from xformer.study.metric import Metric, how_to_measure, splits_of
from xformer.study.records import Scores
from xformer.study.run import Run
from xformer.study.sentences import Pair, largest_differences
from xformer.study.statistics.bootstrap import Paired, approximate_randomisation, paired_bootstrap
from xformer.study.translations import Output, output_of, scores_of

SENTENCES = 10
_PLACES = ("runs_dir", "cache_dir")  # where a run lies is no part of what it is
_IMPORTED = ("model.", "tokenizer.", "decode.")  # keys of an imported run that are known


@dataclass(frozen=True)
class Compared:
    """One score of both runs; `difference` is the right one's less the left one's."""

    metric: Metric
    left: float
    right: float

    @property
    def difference(self) -> float:
        """Right less left."""
        return self.right - self.left


@dataclass(frozen=True)
class TwoRuns:
    """All that is said of two runs; both tests are of the difference in BLEU, right less left."""

    left: Run
    right: Run
    split: str
    sentences: int
    changed: tuple[Difference, ...]
    scores: tuple[Compared, ...]
    bootstrap: Paired
    randomisation: Paired
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]

    def values(self) -> dict[str, Any]:
        """The same as plain values for JSON."""
        return {
            "left": str(self.left.folder),
            "right": str(self.right.folder),
            "split": self.split,
            "sentences": self.sentences,
            "differences": [
                {"key": each.key, "left": each.left, "right": each.right} for each in self.changed
            ],
            "scores": {
                each.metric.score: {
                    "left": each.left,
                    "right": each.right,
                    "difference": each.difference,
                }
                for each in self.scores
            },
            "paired_bootstrap": {"difference": self.bootstrap.difference, "p": self.bootstrap.p},
            "approximate_randomisation": {
                "difference": self.randomisation.difference,
                "p": self.randomisation.p,
            },
            "largest_differences": [
                {
                    "line": pair.line,
                    "left": pair.left,
                    "right": pair.right,
                    "left_bleu": pair.left_bleu,
                    "right_bleu": pair.right_bleu,
                }
                for pair in self.pairs
            ],
            "notes": list(self.notes),
        }


def compare_runs(left: Path, right: Path, split: str = "test", sentences: int = SENTENCES) -> TwoRuns:
    """Compare two run folders on a split, with the `sentences` on which they differ most.

    Raises UserError where a folder is no run folder or cannot be read, where a run has no scores of the split
    or kept no counts of its sentences, and where the two were scored in different ways or against other
    references, so that a difference would say nothing.
    """
    split = splits.in_results(split)
    runs = _run(left), _run(right)
    configs = RunFolder(left).config(), RunFolder(right).config()
    scored = _scores(runs[0], split), _scores(runs[1], split)
    _same_scorer(runs, scored)
    outputs = _output(runs[0], split), _output(runs[1], split)
    _same_references(runs, outputs, split)
    ours, theirs = outputs[0][1], outputs[1][1]
    return TwoRuns(
        left=runs[0],
        right=runs[1],
        split=split,
        sentences=len(ours),
        changed=tuple(each for each in differences(*configs) if _tells(each.key, runs)),
        scores=tuple(_compared(split, runs, scored)),
        bootstrap=paired_bootstrap(theirs, ours),
        randomisation=approximate_randomisation(theirs, ours),
        pairs=largest_differences(*outputs, sentences),
        notes=tuple(_notes(runs)),
    )


def _tells(key: str, runs: tuple[Run, Run]) -> bool:
    """Whether a difference in this key is one between the runs."""
    if any(run.experiment == schema.IMPORTED for run in runs):
        return key.startswith(_IMPORTED)
    return key not in _PLACES


def _run(folder: Path) -> Run:
    runs = collect(folder) if folder.is_dir() else []
    if len(runs) != 1 or runs[0].folder != folder:
        wrong = "is not a run folder, it has no status.json" if folder.is_dir() else "no such folder"
        raise UserError(
            f"{folder}: {wrong}; give two folders such as "
            "runs/table3/base/tiny-grammar-s1-1a2b3c4d (`xformer status runs` lists them)"
        )
    if runs[0].state == "unreadable":
        raise UserError(f"{folder}: {runs[0].reason}")
    return runs[0]


def _scores(run: Run, split: str) -> Scores:
    found = scores_of(run, split)
    if found is None:
        scored = splits_of(run)
        raise UserError(
            f"{run.folder}: has no scores of {split} ({run.state}); {_measuring(run, split)}"
            + (f", or give --split: it has scores of {', '.join(scored)}" if scored else "")
        )
    return found


def _measuring(run: Run, split: str) -> str:
    if run.experiment == schema.IMPORTED:
        return "it has no corpus; `xformer evaluate RUN --input FILE --reference FILE` scores it on any text"
    return f"`{how_to_measure(Metric(split, 'bleu'), ())}` measures them"


def _output(run: Run, split: str) -> Output:
    found = output_of(run, split)
    if found is None:
        raise UserError(
            f"{run.folder}: kept no counts of its sentences on {split} that give its BLEU, so nothing can be "
            f"tested sentence by sentence; `{how_to_measure(Metric(split, 'bleu'), ())}` counts them"
        )
    return found


def _same_scorer(runs: tuple[Run, Run], scored: tuple[Scores, Scores]) -> None:
    one, other = (each.signature.get("bleu") for each in scored)
    if one != other:
        raise UserError(
            f"the two were scored in different ways, so their BLEU cannot be compared: {one} in "
            f"{runs[0].folder}, {other} in {runs[1].folder}; score both with the same version"
        )


def _same_references(runs: tuple[Run, Run], outputs: tuple[Output, Output], split: str) -> None:
    one, other = (counts[:, REFERENCE_LENGTH] for _, counts in outputs)
    if np.array_equal(one, other):
        return
    if len(one) != len(other):
        what = f"{len(one):,} sentences in {runs[0].folder}, {len(other):,} in {runs[1].folder}"
    else:
        line = int(np.flatnonzero(one != other)[0]) + 1
        what = f"that of line {line:,} has {one[line - 1]} words for one, {other[line - 1]} for the other"
    raise UserError(f"the two were scored against different references of {split}: {what}")


def _compared(split: str, runs: tuple[Run, Run], scored: tuple[Scores, Scores]) -> Iterator[Compared]:
    for name in ("bleu", "chrf", "ter", "perplexity"):
        if name == "perplexity" and _other_tokenizers(runs):
            continue
        left, right = (getattr(each, name) for each in scored)
        if left is not None and right is not None:
            yield Compared(Metric(split, name), left, right)


def _other_tokenizers(runs: tuple[Run, Run]) -> bool:
    one, other = ((run.setting.tokenizer, run.setting.tokenizer_content) for run in runs)
    return one != other


def _notes(runs: tuple[Run, Run]) -> Iterator[str]:
    yield (
        "Both p-values are of other sentences only, not of other seeds: two seeds of one row can differ as "
        "clearly. `xformer report` compares rows over seeds."
    )
    if _other_tokenizers(runs):
        yield "Perplexities are left out: the two cut text differently, so theirs are of different units."
    for run in runs:
        if run.experiment == schema.IMPORTED:
            yield f"{run.folder.name} was imported: how and on what it was trained is not known."
    one, other = (run.setting for run in runs)
    if one.decoder != other.decoder:
        yield f"Decoded in different ways: {one.decoder}; {other.decoder}."
    if (one.data_content or one.data) != (other.data_content or other.data):
        yield "The corpora differ (other text, or more of it), though the references are equally long."
