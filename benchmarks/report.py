"""How long a report takes, and how large its page is.

python -m benchmarks.report           120 runs made up: 40 rows × 3 seeds × 1,000 test sentences
python -m benchmarks.report FOLDER    the runs of a folder, copied under other seeds until there are 120
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import yaml

from xformer.scoring.corpus import bleu_of, statistics
from xformer.scoring.counts import write_counts
from xformer.study.collect import collect
from xformer.study.paper import paper_rows
from xformer.study.report import build_report
from xformer.study.web.page import report_html

RUNS, SEEDS, SENTENCES, UPDATES = 120, 3, 1000, 5000
LIMIT_SECONDS, LIMIT_BYTES = 15, 3_000_000


def copied(source: Path, root: Path) -> None:
    """The runs of a folder under new seeds and ids, without checkpoints, until there are enough."""
    found = [run for run in collect(source) if run.started and run.state == "finished"]
    for number, run in zip(range(RUNS), (run for _ in count() for run in found), strict=False):
        seed = 1 + number // len(found)
        place = root / run.experiment / f"copy{number}" / f"{run.folder.name[:-10]}{seed}-{number:08x}"
        shutil.copytree(run.folder, place, ignore=shutil.ignore_patterns("checkpoints", "tracking", ".*"))
        for name in ("status.json", "result.json"):
            values = json.loads((place / name).read_text()) | {"seed": seed, "run_id": f"{number:08x}"}
            (place / name).write_text(json.dumps(values))
        configuration = yaml.safe_load((place / "config.yaml").read_text()) | {"seed": seed}
        (place / "config.yaml").write_text(yaml.safe_dump(configuration))


def made_up(root: Path) -> None:
    """Rows of Table 3 and as many others, whose hypotheses lose a share of their references' words."""
    draw = random.Random(1)
    words = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in ("", "ra", "lin", "tos")]
    references = [" ".join(draw.choices(words, k=draw.randint(4, 30))) for _ in range(SENTENCES)]
    papers = paper_rows()
    names = [row.name for row in papers] + [f"mine/row{n}" for n in range(RUNS // SEEDS - len(papers))]
    for number, name in enumerate(names):
        for seed in range(1, SEEDS + 1):
            hypotheses = [
                " ".join(word for word in line.split() if draw.random() > 0.1 + number / 200)
                for line in references
            ]
            _write(root, name, number, seed, hypotheses, references)


def _write(
    root: Path, name: str, number: int, seed: int, hypotheses: list[str], references: list[str]
) -> None:
    folder = root / name / f"mini-grammar-s{seed}-{number:04x}{seed:04x}"
    (folder / "hypotheses").mkdir(parents=True)
    bleu = bleu_of(statistics(hypotheses, references).sum(axis=0))
    common = {"run_id": folder.name[-8:], "row_hash": f"{number:08x}", "experiment": name, "seed": seed}
    state = {"state": "finished", "updates": UPDATES, "updates_planned": UPDATES}
    (folder / "status.json").write_text(json.dumps(common | state))
    split = {
        "bleu": bleu,
        "perplexity": 3.0 + number / 50 + seed / 99,
        "sentences": SENTENCES,
        "signature": {},
    }
    cost = {
        "flops_per_token": 1e6 + 1e4 * number,
        "train_tokens_per_second": 9e3 - 50.0 * number,
        "peak_memory_bytes": 2**29 + number * 2**20,
        "parameters": 400_000 + 10_000 * number,
        "parameters_closed_form": 400_000 + 10_000 * number,
    }
    splits = {"data": "grammar", "tokenizer": "bpe", "dev": split, "test": split}
    (folder / "result.json").write_text(json.dumps(common | cost | splits))
    sizes = {"d_model": 64, "d_ff": 256, "heads": 8, "d_k": 8, "d_v": 8, "dropout": 0.1}
    configuration = {
        "experiment": name,
        "seed": seed,
        "model": sizes | {"layers": 1 + number % 6, "position": {"kind": "sinusoidal"}},
        "optim": {"label_smoothing": 0.1},
        "trainer": {"updates": UPDATES},
        "scale": {"name": "mini", "width": "1/8", "depth": "1/2", "updates": "1/20"},
        "data": {"kind": "grammar"},
        "tokenizer": {"kind": "bpe", "vocabulary": 1000},
        "decode": {"beam": 4, "alpha": 0.6, "extra_length": 50, "average": 1},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(configuration))
    text = folder / "hypotheses" / "test.txt"
    text.write_text("".join(f"{line}\n" for line in hypotheses))
    write_counts(text, hypotheses, references)
    curve = ["update,tokens,nll,dev_perplexity"]
    for update in range(50, UPDATES + 1, 50):
        loss = 2 + 4 / (1 + update / 300) + 0.1 * random.Random(update + seed).random()
        dev = f"{2.72**loss:.4f}" if update % 500 == 0 else ""
        curve.append(f"{update},{update * 3000},{loss:.5f},{dev}")
    (folder / "metrics.csv").write_text("\n".join(curve) + "\n")


def main() -> None:
    """Make the runs, then time and weigh their report."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        if len(sys.argv) > 1:
            copied(Path(sys.argv[1]), root)
        else:
            made_up(root)
        began = time.perf_counter()
        report = build_report(root)
        judged = time.perf_counter() - began
        text = report_html(report.runs, report.tables, report.unplaced, report.verdict, report.findings)
        spent, size = time.perf_counter() - began, len(text.encode())
    rows = sum(bool(row.runs) for table in report.tables for row in table.rows)
    print(f"{len(report.runs)} runs, {rows} rows, {len(report.tables)} table(s)")
    print(f"collected and judged  {judged:6.2f} s")
    print(f"and the page          {spent:6.2f} s   (at most {LIMIT_SECONDS})")
    print(f"page                  {size / 1e6:6.2f} MB  (at most {LIMIT_BYTES / 1e6:g})")
    if spent > LIMIT_SECONDS or size > LIMIT_BYTES:
        sys.exit(1)


if __name__ == "__main__":
    main()
