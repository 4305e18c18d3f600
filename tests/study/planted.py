"""Sixty run folders whose truth is known: twenty rows of three seeds, effects planted, small noise.

There are two such truths. In `FIRST` the paper is mostly right; in `SECOND` rows that the first lacks were
run, and most effects are turned round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.study.folders import SIGNATURE, result, scores, write_json, write_run

NOISE = 0.1  # standard deviation between seeds, BLEU


@dataclass(frozen=True)
class Truth:
    """Effects by row: test BLEU less the base's 60, perplexity less 3.2, BLEU on long sentences."""

    effects: Mapping[str, float]
    diverged: str  # a row that diverges with every seed
    perplexities: Mapping[str, float]
    averaging: float  # what the average of five checkpoints gains the base
    verdicts: Mapping[str, str]  # what follows for each built-in claim
    long: Mapping[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> set[str]:
        return {*self.effects, self.diverged}


FIRST = Truth(
    {
        "table3/base": 0.0,
        "table3/A_h1": -2.0,
        "table3/A_h32": -1.0,
        "table3/B_dk32": -1.0,
        "table3/B_dk16": -2.0,
        "table3/C_n2": -3.0,
        "table3/C_n4": -1.5,
        "table3/C_n8": 1.5,
        "table3/C_d256": -3.0,
        "table3/C_d1024": 2.0,
        "table3/C_ff1024": -2.0,
        "table3/C_ff4096": 2.0,
        "table3/D_drop00": 1.0,
        "table3/D_ls00": 0.0,
        "table3/E_learned": 0.0,
        "modern/rmsnorm": -1.0,
        "modern/gqa": -0.1,
        "modern/prenorm": -0.5,
        "pitfalls/prenorm_nowarmup": -0.5,
    },
    diverged="pitfalls/postnorm_nowarmup",
    perplexities={"table3/D_ls00": -0.3},
    averaging=0.3,
    verdicts={
        "heads": "supported",
        "key_size": "supported",
        "size": "supported",  # in each of its three trends
        "dropout": "contradicted",
        "label_smoothing": "within noise",  # its first half is supported
        "learned_positions": "supported",  # an equivalence
        "averaging": "supported",
        "warmup": "supported",  # one row diverges, the other is no worse
        "deep_postnorm": "not run",
        "gated_feedforward": "not run",
        "rmsnorm": "contradicted",  # it costs more than half a point
        "rotary_length": "not run",
        "grouped_queries": "supported",  # it costs less
        "no_positions": "not run",
        "unscaled_scores": "not run",
    },
)

SECOND = Truth(
    {
        "table3/base": 0.0,
        "table3/A_h1": 0.0,
        "table3/A_h32": -1.0,
        "table3/B_dk32": 1.0,
        "table3/B_dk16": -1.0,
        "table3/C_n2": 3.0,
        "table3/C_n4": 1.5,
        "table3/C_n8": -1.5,
        "table3/D_drop00": -3.0,
        "table3/D_ls00": -1.0,
        "table3/E_learned": 1.0,
        "modern/rmsnorm": 0.0,
        "modern/gqa": -1.0,
        "modern/geglu": 0.0,
        "modern/swiglu": 0.0,
        "modern/rope": 0.0,
        "pitfalls/prenorm_deep": 0.5,
        "pitfalls/no_positions": -10.0,
        "pitfalls/scale_none": 0.0,
    },
    diverged="pitfalls/postnorm_deep",
    perplexities={"table3/D_ls00": -0.3, "modern/geglu": -0.3, "modern/swiglu": -0.4},
    averaging=-0.5,
    long={"table3/base": 30.0, "modern/rope": 28.0},
    verdicts={
        "heads": "within noise",  # one head is as good, though thirty-two are not
        "key_size": "contradicted",  # the first step goes up, the second down
        "size": "contradicted",  # depth; the other two were not run
        "dropout": "supported",
        "label_smoothing": "supported",
        "learned_positions": "contradicted",  # a whole point apart
        "averaging": "contradicted",
        "warmup": "not run",
        "deep_postnorm": "supported",  # it diverges
        "gated_feedforward": "supported",
        "rmsnorm": "supported",
        "rotary_length": "contradicted",
        "grouped_queries": "contradicted",
        "no_positions": "supported",  # by more than its margin of two points
        "unscaled_scores": "within noise",
    },
)

EFFECTS, DIVERGED = FIRST.effects, FIRST.diverged


def plant(
    root: Path, seeds: int = 3, without: Collection[str] = (), noise_seed: int = 2, truth: Truth = FIRST
) -> None:
    """Write the folders, with the base's scores of five averaged checkpoints and those on long sentences."""
    random = np.random.default_rng(noise_seed)
    for experiment, effect in truth.effects.items():
        for seed in range(1, seeds + 1):
            noise = random.normal(0, NOISE, 3)
            bleu = 60 + effect + noise[0]
            perplexity = 3.2 + truth.perplexities.get(experiment, 0.0) + 0.05 * noise[1]
            if experiment in without:
                continue
            values = result(bleu, perplexity, test=scores(bleu, perplexity, sentences=1000))
            folder = write_run(root, experiment, seed, outcome=values)
            if experiment == "table3/base":
                write_evaluation(folder, "test", bleu + truth.averaging + 0.2 * noise[2], average=5)
            if experiment in truth.long:
                write_evaluation(folder, "long", truth.long[experiment] + noise[2])
    for seed in range(1, seeds + 1):
        if truth.diverged not in without:
            write_run(root, truth.diverged, seed, state="diverged", reason="loss is nan at update 312")


def write_evaluation(folder: Path, split: str, bleu: float, *, average: int = 1, **changes: Any) -> Path:
    """Write what `xformer evaluate` would for one split."""
    decoding = {"beam": 4, "alpha": 0.6, "extra_length": 50, "averaged_checkpoints": average} | changes
    digest = "".join(f"{number:02x}" for number in (average, *changes.values()))
    path = folder / "evaluations" / f"{digest}.json"
    path.parent.mkdir(exist_ok=True)
    split_scores = scores(bleu, 3.0, signature={"bleu": SIGNATURE}, sentences=1000)
    write_json(path, decoding | {"update": 600, "splits": {split: split_scores}})
    return path
