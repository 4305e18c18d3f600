"""Seconds and peak memory of preparing a corpus at several sizes, and of planning an epoch of it.

    python -m benchmarks.preparation [--pairs 100000,300000] [--plan 36000000]

The text is that of the built-in language, three sentences a line, with one word in ten changed into one of
ever more rare words, since a corpus of WMT's size has millions of different words and the memory of learning
BPE is that of those. Each size is a process of its own: it checks and hashes the text, learns BPE from both
sides, encodes and stores, and then opens the same once more. From the first and the last size follow a slope
and what 4.5 and 36 million pairs would take. Planning is measured on made-up lengths alone.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WANTED = (4_500_000, 36_000_000)


def main() -> None:
    """Make the text, run each size and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preparation", description=__doc__)
    parser.add_argument("--pairs", default="100000,300000", help="sizes, comma between")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--plan", type=int, default=36_000_000, help="pairs to plan an epoch of; 0: none")
    options = parser.parse_args()
    measured = []
    print("| pairs | text MB | prepared in s | processor s | pairs/s | peak MB | opened again in ms |")
    print("|---|---|---|---|---|---|---|")
    for pairs in map(int, options.pairs.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            megabytes = write_text(Path(folder), pairs)
            found = _child("prepare", folder, str(options.vocabulary))
        measured.append((pairs, found["seconds"], found["peak"]))
        print(
            f"| {pairs:,} | {megabytes:.0f} | {found['seconds']:.1f} | {found['processor']:.1f} "
            f"| {pairs / found['seconds']:,.0f} | {found['peak']:.0f} | {1000 * found['opening']:.0f} |",
            flush=True,
        )
    if len(measured) > 1:
        print(_extrapolated(measured[0], measured[-1]))
    if options.plan:
        found = _child("plan", str(options.plan), "0")
        print(
            f"plan of {options.plan:,} pairs: {found['seconds']:.1f} s and {found['epoch']:.1f} s to begin "
            f"an epoch, {found['peak']:.0f} MB at most"
        )


def write_text(folder: Path, pairs: int) -> float:
    """Write train, valid and test text; returns the megabytes to train on."""
    from xformer.config.compose import compose
    from xformer.config.schema import GrammarData
    from xformer.data.grammar.generate import generate

    config = compose([]).data
    assert isinstance(config, GrammarData)
    sides = generate(config)["train"]
    stream = random.Random(1)
    rare = "bcdfghklmnprstvz"
    for name, count in (("valid", 100), ("test", 100), ("train", pairs)):
        with (folder / f"{name}.xx").open("w") as source, (folder / f"{name}.yy").open("w") as target:
            for _ in range(count):
                chosen = [stream.randrange(len(sides[0])) for _ in range(3)]
                for side, file in zip(sides, (source, target), strict=True):
                    words = " ".join(side[i] for i in chosen).split()
                    for place in range(stream.randrange(10), len(words), 10):
                        number = int(stream.paretovariate(0.7))  # of words as rare as in real text
                        words[place] += "".join(rare[int(digit, 16)] for digit in f"{number:x}"[:12])
                    file.write(" ".join(words) + "\n")
    return sum((folder / f"train.{side}").stat().st_size for side in ("xx", "yy")) / 1e6


def _extrapolated(small: tuple[float, ...], large: tuple[float, ...]) -> str:
    slopes = [(large[i] - small[i]) / (large[0] - small[0]) for i in (1, 2)]
    lines = [f"slope: {1e6 * slopes[0]:.1f} s and {1e6 * slopes[1]:.0f} MB a million pairs"]
    for pairs in WANTED:
        seconds, peak = (large[i] + slopes[i - 1] * (pairs - large[0]) for i in (1, 2))
        lines.append(f"{pairs:,} pairs at that slope: {seconds / 60:.1f} min, {peak:,.0f} MB")
    return "\n".join(lines)


def _child(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.preparation", "--child", *arguments]
    found: dict[str, float] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    return found


def _prepare(folder: str, vocabulary: str) -> dict[str, float]:
    from xformer.config.compose import compose
    from xformer.data.prepare import prepare

    config = compose(
        [
            "scale=mini", "data=files", f"data.dir={folder}", "data.source=xx", "data.target=yy",
            f"tokenizer.vocabulary={vocabulary}", f"cache_dir={folder}/cache",
        ]
    )  # fmt: skip
    began = time.perf_counter()
    prepare(config)
    seconds, processor, peak = time.perf_counter() - began, time.process_time(), _peak()
    time.sleep(3)  # files that were written a moment ago are hashed once more (xformer/data/seen.py)
    prepare(config)
    began = time.perf_counter()
    prepare(config)
    opening = time.perf_counter() - began
    return {"seconds": seconds, "processor": processor, "peak": peak, "opening": opening}


def _plan(pairs: str, _: str) -> dict[str, float]:
    from xformer.data.plan import UpdatePlan

    stream = np.random.default_rng(1)
    lengths = [np.clip(stream.lognormal(3.1, 0.55, int(pairs)), 2, 255).astype(np.int32) for _ in range(2)]
    began = time.perf_counter()
    plan = UpdatePlan(*lengths, tokens_per_update=25_000, tokens_per_device=4096, seed=1)
    seconds, began = time.perf_counter() - began, time.perf_counter()
    plan.update(0)
    return {"seconds": seconds, "epoch": time.perf_counter() - began, "peak": _peak()}


def _peak() -> float:
    """Megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        task = {"prepare": _prepare, "plan": _plan}[sys.argv[2]]
        print(json.dumps(task(*sys.argv[3:])))
    else:
        main()
