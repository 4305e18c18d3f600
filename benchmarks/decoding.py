"""Sentences a second of one trained run in several programs: xformer, transformers, CTranslate2.

    python -m benchmarks.decoding RUN --input FILE [--threads 2] [--rounds 3]

The weights are the same: the run is exported to Marian's format, and that to CTranslate2's. The search is the
same too, a beam of 4 without a length penalty (the programs' penalties are different formulas), and it is
printed how many translations are those of xformer. Each contender is a process of its own, the contenders in
turn (A B C A B C …); what is timed is from text to text, loading and a short warm-up not. CTranslate2 runs in
two settings of as many threads: all on one batch, and one batch each. It is left out where it is not
installed (`pip install ctranslate2`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CONTENDERS = ("xformer", "ctranslate2, threads on one batch", "ctranslate2, a batch a thread", "transformers")


def main() -> None:
    """Convert, run the rounds and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding", description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder that Marian's format can express")
    parser.add_argument("--input", type=Path, required=True, help="sentences, one a line")
    parser.add_argument("--sentences", type=int, default=1000, help="at most so many of them")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    names = [name for name in CONTENDERS if "ctr" not in name or importlib.util.find_spec("ctranslate2")]
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    lines: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as work:
        for step in ("marian", *({"ctranslate2"} if len(names) == len(CONTENDERS) else ())):
            _run("benchmarks.decoding_contender", f"convert to {step}", options, work)
        for number in range(options.rounds):
            for name in names:
                found = json.loads(_run("benchmarks.decoding_contender", name, options, work))
                lines[name] = found.pop("lines")
                results[name].append(found)
                print(f"round {number + 1}: {name}: {found['rate']:.0f} sentences/s", file=sys.stderr)
    print(
        f"| beam 4, {options.threads} threads | sentences/s, median | min–max | ratio | CPU s | as xformer |"
    )
    print("|---|---|---|---|---|---|")
    first = statistics.median(each["rate"] for each in results[names[0]])
    for name, rounds in results.items():
        rates = [each["rate"] for each in rounds]
        same = sum(a == b for a, b in zip(lines[name], lines[names[0]], strict=True)) / len(lines[name])
        print(
            f"| {name} | {statistics.median(rates):.0f} | {min(rates):.0f}–{max(rates):.0f} "
            f"| {statistics.median(rates) / first:.2f} "
            f"| {statistics.median(each['processor'] for each in rounds):.1f} | {same:.1%} |"
        )


def _run(module: str, task: str, options: argparse.Namespace, work: str) -> str:
    command = [sys.executable, "-m", module, task, str(options.run), str(options.input), work]
    command += [str(options.sentences), str(options.threads)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main()
