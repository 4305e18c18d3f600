"""How long the sentences' part of every interval of a table takes.

python -m benchmarks.bootstrap                20 rows × 3 seeds × 1,000 sentences × 2,000 resamples
python -m benchmarks.bootstrap 3000           as many sentences as newstest2013
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from xformer.study.statistics.bootstrap import RESAMPLES, resampled_bleu

ROWS, SEEDS = 20, 3


def counts(systems: int, sentences: int) -> np.ndarray:
    """Made-up counts [K, N, 10] of the size of real ones: about 25 words, matches falling with the order."""
    random = np.random.default_rng(1)
    reference = random.integers(8, 45, sentences)
    found = np.empty((systems, sentences, 10), dtype=np.int64)
    found[:, :, 1] = reference
    found[:, :, 0] = np.maximum(4, reference + random.integers(-3, 4, (systems, sentences)))
    matches = found[:, :, 0]
    for order in range(4):
        found[:, :, 6 + order] = found[:, :, 0] - order
        matches = random.binomial(np.minimum(matches, found[:, :, 6 + order]), 0.7)
        found[:, :, 2 + order] = matches
    return found


def main() -> None:
    """Time all resamples, and sacrebleu on as many as it does in a few seconds."""
    sentences = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    systems = counts(ROWS * SEEDS, sentences)
    print(f"{ROWS} rows × {SEEDS} seeds × {sentences:,} sentences × {RESAMPLES:,} resamples")
    began = time.perf_counter()
    scores = resampled_bleu(systems)
    print(f"xformer    {time.perf_counter() - began:6.2f} s")
    few = 20
    drawn = np.random.default_rng(1).integers(sentences, size=(few, sentences))
    metric, small = BLEU(), systems[0].astype("float32")
    began = time.perf_counter()
    expected = [metric._compute_score_from_stats(small[lines].sum(0)).score for lines in drawn]
    spent = (time.perf_counter() - began) / few
    print(f"sacrebleu  {spent * RESAMPLES * ROWS * SEEDS:6.2f} s, from {few} resamples of one system")
    print(f"largest difference in BLEU {np.abs(scores[:few, 0] - expected).max():.1e}")


if __name__ == "__main__":
    main()
