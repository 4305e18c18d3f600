"""How the cost of training a token grows with length, width, depth and vocabulary: a table and a picture.

One axis at a time, the rest as in `--size small` of the training benchmark (d_model 128, 4 heads, 3+3 layers,
d_ff four times d_model, vocabulary 8,000, sentences of 16 tokens). Beside each time stands what the closed
form says of its floating-point operations, both relative to the axis's first point.

    python -m benchmarks.scaling --threads 1 --plot docs/scaling.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.contenders import xformer
from benchmarks.training import sizes, train
from xformer.config import schema
from xformer.config.sizes.flops import flops
from xformer.data.plan import UpdatePlan
from xformer.data.store import ParallelStore

AXES = {
    "length": (16, 32, 64, 128, 256, 512),
    "d_model": (64, 128, 256, 512),
    "layers": (1, 2, 4, 8),
    "vocabulary": (1000, 4000, 16000, 64000),
}
TOKENS = 2048  # a side and update
Point = tuple[int, float, float]  # value on the axis, microseconds a token, operations a token


def main() -> None:
    """Measure every axis and say what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--updates", type=int, default=8, help="timed at each point")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="write a picture there (its ending says the format)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    measured = {axis: list(points(axis, options.precision, options.updates)) for axis in AXES}
    print("| axis | value | µs a token | relative | operations, relative |\n|---|---|---|---|---|")
    for axis, found in measured.items():
        _, first, operations = found[0]
        for value, microseconds, work in found:
            print(
                f"| {axis} | {value:,} | {microseconds:.1f} | {microseconds / first:.2f} "
                f"| {work / operations:.2f} |"
            )
    if options.plot:
        plot(measured, options.plot)


def points(axis: str, precision: str, updates: int) -> Iterator[Point]:
    """The cost of a source or target token at each value of an axis."""
    for value in AXES[axis]:
        length = value if axis == "length" else 16
        vocabulary = value if axis == "vocabulary" else 8000
        config = _sized(axis, value)
        torch.manual_seed(1)
        store = _sentences(length, vocabulary)
        plan = UpdatePlan(
            store.source_lengths, store.target_lengths,
            tokens_per_update=TOKENS, tokens_per_device=TOKENS, seed=1,
        )  # fmt: skip
        timed = train(
            xformer(config, vocabulary, True), store, plan,
            device=torch.device("cpu"), precision=precision, updates=updates, warm_up=2,
        )  # fmt: skip
        work = flops(config, vocabulary, sentence=length).token
        yield value, 1e6 * timed.seconds / timed.tokens, work


def _sized(axis: str, value: int) -> schema.Model:
    small = sizes("small")
    if axis == "layers":
        return replace(small, layers=value)
    if axis == "d_model":
        head = value // small.heads
        return replace(small, d_model=value, d_ff=4 * value, d_k=head, d_v=head)
    return small


def _sentences(length: int, vocabulary: int) -> ParallelStore:
    """Pairs that have `length` tokens on each side, the end counted."""
    random = np.random.default_rng(1)
    pairs = random.integers(4, vocabulary, (40 * TOKENS // length, 2, length - 1)).tolist()
    return ParallelStore.from_pairs([(source, target) for source, target in pairs], vocabulary)


def plot(measured: dict[str, list[Point]], path: Path) -> None:
    """Time and operations a token along each axis, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.8), layout="constrained")
    for place, (axis, found) in zip(figure.subplots(1, len(measured)), measured.items(), strict=True):
        values, microseconds, work = zip(*found, strict=True)
        place.loglog(values, microseconds, "o-", label="measured")
        place.loglog(values, np.array(work) * microseconds[0] / work[0], ":", label="by operations")
        place.set_xlabel(axis)
        place.set_xticks(values, [f"{value:,}" for value in values], minor=False)
        place.minorticks_off()
    first, *_ = figure.axes
    first.set_ylabel("µs a token")
    first.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main()
