"""`make bench`: training speed of xformer beside torch.nn.Transformer, on the same sentences.

Each contender runs in a process of its own, the contenders in turn (A B C A B C …), and the median of the
rounds is printed with its ratio to the first: machines are noisy, ratios within a run are less so. What is
counted is real source and target tokens, padding not, through forward pass, loss, backward pass and Adam.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

CONTENDERS = ("torch.nn.Transformer fp32", "torch.nn.Transformer bf16", "xformer fp32", "xformer bf16")


def main() -> None:
    """Run the rounds and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=30, help="timed updates a round")
    parser.add_argument("--threads", type=int, default=0, help="0 leaves the choice to PyTorch")
    options = parser.parse_args()
    speeds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for number in range(options.rounds):
        for name in CONTENDERS:
            command = [
                sys.executable,
                "-m",
                "benchmarks.training",
                name,
                str(options.updates),
                str(options.threads),
            ]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            speeds[name].append(float(printed))
            print(f"round {number + 1}: {name}: {speeds[name][-1]:,.0f} tokens/s", file=sys.stderr)
    first = statistics.median(speeds[CONTENDERS[0]])
    print("| d_model 128, 3+3 layers, vocabulary 8,000 | tokens/s, median | min–max | ratio |")
    print("|---|---|---|---|")
    for name, values in speeds.items():
        median = statistics.median(values)
        spread = f"{min(values):,.0f}–{max(values):,.0f}"
        print(f"| {name} | {median:,.0f} | {spread} | {median / first:.2f} |")


if __name__ == "__main__":
    main()
