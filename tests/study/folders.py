"""Run folders made by hand, as a finished, failed or broken run would leave them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from xformer.study.paper import paper_rows

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
PAPER = {row.name: row for row in paper_rows()}


def config(experiment: str = "table3/base", seed: int = 1, **changes: Any) -> dict[str, Any]:
    """A resolved configuration at scale tiny; `changes` are dotted keys with `__` for the dot."""
    paper = PAPER.get(experiment, PAPER["table3/base"])
    values: dict[str, Any] = {
        "experiment": experiment,
        "changes": [],
        "seed": seed,
        "model": {
            "layers": max(1, paper.layers // 2),
            "d_model": paper.d_model // 8,
            "d_ff": paper.d_ff // 8,
            "heads": paper.heads,
            "d_k": max(1, paper.d_k // 8),
            "d_v": max(1, paper.d_v // 8),
            "dropout": paper.dropout,
            "position": {"kind": paper.position},
        },
        "scale": {"name": "tiny", "width": "1/8", "depth": "1/2", "updates": "3/500", "vocabulary": 640},
        "data": {"kind": "grammar", "seed": 1, "train_pairs": 20000, "max_length": 128},
        "tokenizer": {"kind": "bpe", "vocabulary": 640},
        "optim": {"label_smoothing": paper.label_smoothing},
        "trainer": {"updates": paper.updates * 3 // 500},
        "decode": {"beam": 4, "alpha": 0.6, "extra_length": 50, "average": 1, "tokens_per_batch": 4000},
        "tracking": {"kind": "none"},
    }
    for key, value in changes.items():
        *sections, last = key.split("__")
        place = values
        for section in sections:
            place = place[section]
        place[last] = value
    return values


def scores(bleu: float, perplexity: float | None, **changes: Any) -> dict[str, Any]:
    """The scores of one split."""
    signature = {"bleu": SIGNATURE, "chrf": "nrefs:1|nc:6", "ter": "nrefs:1|tok:tercom"}
    values = {"bleu": bleu, "perplexity": perplexity, "chrf": 60.0, "ter": 40.0, "sentences": 500}
    return values | {"signature": signature} | changes


def result(bleu: float = 70.0, perplexity: float | None = 3.0, **changes: Any) -> dict[str, Any]:
    """What a finished run came to; the test split scores one BLEU less than the dev split."""
    values = {
        "data": "grammar",
        "tokenizer": "bpe-640",
        "commit": "0" * 40,
        "parameters": 483_072,
        "parameters_closed_form": 483_072,
        "flops_per_token": 1.26e6,
        "updates": 600,
        "epochs": 8.5,
        "train_tokens_per_second": 12_345.6,
        "peak_memory_bytes": 512 * 2**20,
        "wall_seconds": 31.4,
        "dev": scores(bleu, perplexity),
        "test": scores(bleu - 1, perplexity),
    }
    return values | changes


def write_run(
    root: Path,
    experiment: str = "table3/base",
    seed: int = 1,
    *,
    state: str = "finished",
    overrides: tuple[str, ...] = (),
    configuration: dict[str, Any] | None = None,
    outcome: dict[str, Any] | None = None,
    row_hash: str | None = None,
    **status: Any,
) -> Path:
    """Write one run folder and return it; a finished one gets a result unless another is given."""
    settings = configuration or config(experiment, seed)
    row = row_hash or _hash(experiment, overrides, settings["data"], settings["scale"])
    identity = _hash(row, seed)
    data = "grammar" if settings["data"]["kind"] == "grammar" else "multi30k-en-de"
    folder = root / experiment / f"{settings['scale']['name']}-{data}-s{seed}-{identity}"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    common = {"run_id": identity, "row_hash": row, "experiment": experiment, "seed": seed}
    words = [f"experiments={experiment}", f"seed={seed}", *overrides]
    standing = {"state": state, "reason": "", "updates": 600, "updates_planned": 600, "overrides": words}
    write_json(folder / "status.json", common | standing | status)
    if outcome is None and state == "finished":
        outcome = result()
    if outcome is not None:
        write_json(folder / "result.json", common | outcome)
    return folder


def write_failed(root: Path, experiment: str, *overrides: str, reason: str, time: float = 100.0) -> Path:
    """Write the record of a row that could not start."""
    (root / "failed").mkdir(parents=True, exist_ok=True)
    path = root / "failed" / f"{_hash(experiment, overrides)}.json"
    words = [f"experiments={experiment}", *overrides]
    write_json(path, {"experiment": experiment, "overrides": words, "reason": reason, "time": time})
    return path


def write_json(path: Path, value: Any) -> None:
    """Write JSON."""
    path.write_text(json.dumps(value))


def _hash(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]
