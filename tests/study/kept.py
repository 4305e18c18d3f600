"""Run folders that kept what BLEU counted in each of their sentences."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from tests.scoring.test_corpus import RAW
from tests.study.folders import result, scores, write_run
from xformer.scoring.corpus import bleu_of, statistics
from xformer.scoring.counts import write_counts

LINES = 80
REFERENCES = [f"{RAW[n % 6]} {n} {RAW[n % 5]}" for n in range(LINES)]


def outputs(seed: int, lost: float = 0.2) -> list[str]:
    """Hypotheses that lose a share of the words."""
    rng = random.Random(seed)
    return [" ".join(word for word in line.split(" ") if rng.random() > lost) for line in REFERENCES]


def write_kept(
    root: Path,
    experiment: str,
    seed: int,
    lost: float = 0.2,
    references: Sequence[str] = REFERENCES,
    keep: bool = True,
) -> Path:
    """Write a run of which test BLEU, and with `keep` its counts, are those of `outputs`."""
    hypotheses = outputs(seed + 100 * len(experiment), lost)
    bleu = bleu_of(statistics(hypotheses, references).sum(axis=0))
    folder = write_run(
        root, experiment, seed, outcome=result(test=scores(bleu, 3.0 + seed / 100, sentences=LINES))
    )
    (folder / "hypotheses").mkdir()
    if keep:
        write_counts(folder / "hypotheses" / "test.txt", hypotheses, references)
    return folder
