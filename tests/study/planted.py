"""Sixty run folders whose truth is known: twenty rows of three seeds, effects planted, small noise."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from tests.study.folders import SIGNATURE, result, scores, write_json, write_run

NOISE = 0.1  # standard deviation between seeds, BLEU

# Test BLEU less the base's 60. What each row is made to show stands beside it.
EFFECTS = {
    "table3/base": 0.0,
    "table3/A_h1": -2.0,  # heads: supported
    "table3/A_h32": -1.0,
    "table3/B_dk32": -1.0,  # key_size: supported
    "table3/B_dk16": -2.0,
    "table3/C_n2": -3.0,  # size: supported, in each of its three trends
    "table3/C_n4": -1.5,
    "table3/C_n8": 1.5,
    "table3/C_d256": -3.0,
    "table3/C_d1024": 2.0,
    "table3/C_ff1024": -2.0,
    "table3/C_ff4096": 2.0,
    "table3/D_drop00": 1.0,  # dropout: contradicted
    "table3/D_ls00": 0.0,  # label_smoothing: within noise, for its second half
    "table3/E_learned": 0.0,  # learned_positions: supported, an equivalence
    "modern/rmsnorm": -1.0,  # rmsnorm: contradicted, it costs more than half a point
    "modern/gqa": -0.1,  # grouped_queries: supported, it costs less
    "modern/prenorm": -0.5,  # warmup: supported, with
    "pitfalls/prenorm_nowarmup": -0.5,
}
DIVERGED = "pitfalls/postnorm_nowarmup"  # and this
PERPLEXITIES = {"table3/D_ls00": -0.3}  # label_smoothing: supported, for its first half


def plant(root: Path, seeds: int = 3, without: Collection[str] = (), noise_seed: int = 2) -> None:
    """Write the folders, and the base's scores with five checkpoints averaged, which are 0.3 higher."""
    random = np.random.default_rng(noise_seed)
    for experiment, effect in EFFECTS.items():
        for seed in range(1, seeds + 1):
            noise = random.normal(0, NOISE, 3)
            bleu = 60 + effect + noise[0]
            perplexity = 3.2 + PERPLEXITIES.get(experiment, 0.0) + 0.05 * noise[1]
            if experiment in without:
                continue
            values = result(bleu, perplexity, test=scores(bleu, perplexity, sentences=1000))
            folder = write_run(root, experiment, seed, outcome=values)
            if experiment == "table3/base":
                write_evaluation(folder, "test", bleu + 0.3 + 0.2 * noise[2], average=5)
    for seed in range(1, seeds + 1):
        if DIVERGED not in without:
            write_run(root, DIVERGED, seed, state="diverged", reason="loss is nan at update 312")


def write_evaluation(folder: Path, split: str, bleu: float, *, average: int = 1, **changes: Any) -> Path:
    """Write what `xformer evaluate` would for one split."""
    decoding = {"beam": 4, "alpha": 0.6, "extra_length": 50, "averaged_checkpoints": average} | changes
    digest = "".join(f"{number:02x}" for number in (average, *changes.values()))
    path = folder / "evaluations" / f"{digest}.json"
    path.parent.mkdir(exist_ok=True)
    split_scores = scores(bleu, 3.0, signature={"bleu": SIGNATURE}, sentences=1000)
    write_json(path, decoding | {"update": 600, "splits": {split: split_scores}})
    return path
