"""`make bench`: training speed of xformer beside other implementations, on the same sentences.

Each contender runs in a process of its own, the contenders in turn (A B C A B C …), and the median of the
rounds is printed with its ratio to the first: machines are noisy, ratios within a run are less so. The others
are measured as they ship and, marked `*`, without dropout on attention weights and inside the feed-forward,
which xformer does not have. Contenders whose package is missing are left out (`pip install -e .[bench]`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys

PACKAGES = {
    "xformer": "torch",
    "torch.nn.Transformer": "torch",
    "transformers Marian": "transformers",
    "x-transformers": "x_transformers",
}


def main() -> None:
    """Run the rounds and print a table for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=30, help="timed updates a round")
    parser.add_argument("--threads", type=int, default=0, help="0 leaves the choice to PyTorch")
    parser.add_argument("--sizes", default="small", help="small, base, or both with a comma")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--compiled", action="store_true", help="xformer compiled, too: minutes a round")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    for size in options.sizes.split(","):
        rows = run(options, size)
        print(
            f"| {size}, {options.device} | tokens/s, median | min–max | ratio | utilisation | padding ",
            end="",
        )
        print("| reading | peak MB |\n|---|---|---|---|---|---|---|---|")
        first = statistics.median(each["rate"] for each in next(iter(rows.values())))
        for name, rounds in rows.items():
            print(row(name, rounds, first))


def run(options: argparse.Namespace, size: str) -> dict[str, list[dict[str, float]]]:
    """What each round of each contender measured, by the contender's name in the table."""
    commands = {}
    for name, package in PACKAGES.items():
        if importlib.util.find_spec(package) is None:
            print(f"{name} is left out: {package} is not installed", file=sys.stderr)
            continue
        for precision in options.precisions.split(","):
            command = [
                sys.executable, "-m", "benchmarks.training", name, precision, "--size", size, "--device",
                options.device, "--updates", str(options.updates), "--threads", str(options.threads),
            ]  # fmt: skip
            commands[f"{name} {precision}"] = command
            if name == "xformer" and options.compiled:
                commands[f"{name} {precision} compiled"] = [*command, "--compile"]
            if name != "xformer":
                commands[f"{name} {precision} *"] = [*command, "--no-attention-dropout"]
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for number in range(options.rounds):
        for name, command in commands.items():
            printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            rows[name].append(json.loads(printed))
            print(f"round {number + 1}: {name}: {rows[name][-1]['rate']:,.0f} tokens/s", file=sys.stderr)
    return rows


def row(name: str, rounds: list[dict[str, float]], first: float) -> str:
    """A line of the table; `first` is the speed that ratios refer to."""
    middle = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
    rates = [each["rate"] for each in rounds]
    return (
        f"| {name} | {middle['rate']:,.0f} | {min(rates):,.0f}–{max(rates):,.0f} "
        f"| {middle['rate'] / first:.2f} | {middle['utilisation']:.0%} | {middle['padding']:.1%} "
        f"| {middle['reading']:.1%} | {middle['megabytes']:,.0f} |"
    )


if __name__ == "__main__":
    main()
