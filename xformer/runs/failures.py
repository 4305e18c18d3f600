"""Rows of a sweep that could not start leave a record, since they have no run folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from xformer.config import schema
from xformer.config.keys import key_of
from xformer.files import write_json
from xformer.runs.identity import repeatable, safe_name, telling


def record_failure(config: schema.Config, overrides: Sequence[str], reason: str) -> Path:
    """Write down that this row failed, and why; a later record of the same row takes its place."""
    path = _path(config, overrides)
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "experiment": config.experiment,
        "seed": config.seed,
        "scale": config.scale.name,
        "overrides": list(overrides),
        "reason": reason,
        "time": time.time(),
    }
    write_json(path, record)
    return path


def forget_failure(config: schema.Config, overrides: Sequence[str]) -> None:
    """Remove the record of a row that can now start."""
    with contextlib.suppress(FileNotFoundError):
        _path(config, overrides).unlink()


def _path(config: schema.Config, overrides: Sequence[str]) -> Path:
    """Of the row as reports label it and of its text, wherever it lies: that may be what is put right."""
    data = [word for word in repeatable(overrides) if key_of(word).startswith("data")]
    row = [config.scale.name, *sorted(telling(overrides) + data)]
    content = hashlib.sha256(json.dumps(row).encode()).hexdigest()[:8]
    return Path(config.runs_dir) / "failed" / f"{safe_name(config.experiment)}-s{config.seed}-{content}.json"
