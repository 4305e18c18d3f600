"""What a row of a sweep costs beside its training: `python -m benchmarks.sweep_overhead`.

The twenty rows of Table 3 at `tiny`, 10 updates each, one at a time: forked from one process that has done
the imports, then again (all are finished: nothing should be trained), then with every worker started plainly.
Where a row's seconds go is read from the times in its log and its status.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from xformer.study.paper import paper_rows

SMALL = (
    "trainer.updates=10", "trainer.threads=1", "trainer.validate_every=1000", "tracking=none",
    "data.test_pairs=10", "data.valid_pairs=10", "decode.extra_length=5",
)  # fmt: skip


def main() -> None:
    """Run the rows in the three ways and print two tables."""
    argparse.ArgumentParser(prog="python -m benchmarks.sweep_overhead", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        forked, plain = Path(folder) / "forked", Path(folder) / "plain"
        sweep = ["sweeps=table3"]
        rows = [[f"experiments={row.name}"] for row in paper_rows()]
        print("| twenty rows of 10 updates | seconds | a row |\n|---|---|---|")
        for name, commands, runs in (
            ("one sweep, forked", [sweep], forked),
            ("the same command again", [sweep], forked),
            ("twenty commands, started plainly", rows, plain),
        ):
            began = time.monotonic()
            for words in commands:
                command = [sys.executable, "-m", "xformer.cli", "train", *words, *SMALL, f"runs_dir={runs}"]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            seconds = time.monotonic() - began
            print(f"| {name} | {seconds:.1f} | {seconds / len(rows):.2f} |", flush=True)
        print("\n| seconds of a row, median | forked | plain |\n|---|---|---|")
        parts = [_parts(runs) for runs in (forked, plain)]
        for name in parts[0]:
            print(f"| {name} | {parts[0][name]:.2f} | {parts[1][name]:.2f} |")


def _parts(runs: Path) -> dict[str, float]:
    """Median seconds from the start of a row to its first line, to the end of training, to its end."""
    rows = []
    for run in runs.glob("table3/*/*"):
        status = json.loads((run / "status.json").read_text())
        lines = [line for line in (run / "log.txt").read_text().splitlines() if line.startswith("20")]
        times = {
            name: _time(line)
            for name in ("training from", "valid:", "test:")
            for line in lines
            if name in line
        }
        rows.append(
            {
                "from the start to training": times["training from"] - status["started"],
                "training, and scoring the dev set": times["valid:"] - times["training from"],
                "scoring the test set": times["test:"] - times["valid:"],
                "to the end": status["ended"] - times["test:"],
            }
        )
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def _time(line: str) -> float:
    return datetime.datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S.%f").timestamp()


if __name__ == "__main__":
    main()
