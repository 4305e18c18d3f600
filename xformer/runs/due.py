"""Where the run of a configuration is kept, and what is still to be done of it.

The supervisor asks before it starts anything, and `xformer train --dry-run` to tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from xformer.config import schema, splits
from xformer.data.prepare import prepare
from xformer.runs.folder import RunFolder, Status
from xformer.runs.identity import Identity, decoding_hash, identify
from xformer.runs.record import done

Due = Literal["train", "go on", "score", "nothing"]


def place(config: schema.Config) -> tuple[Identity, RunFolder]:
    """Who the run is, by its corpus too, which is prepared for that. Raises UserError for bad data."""
    prepared = prepare(config)
    identity = identify(
        config,
        data_hash=prepared.data_hash,
        tokenizer_hash=prepared.tokenizer_hash,
        data_name=prepared.corpus.name,
    )
    return identity, RunFolder(Path(config.runs_dir) / config.experiment / identity.name)


def recorded(config: schema.Config, identity: Identity) -> Path | None:
    """The record under `done_dir` that counts the run as done. Raises UserError for a folder without any."""
    if not config.done_dir:
        return None
    return done(Path(config.done_dir)).get((config.experiment, identity.name))


def due(config: schema.Config, folder: RunFolder, status: Status | None) -> Due:
    """What its folder, with this status, lacks of what the configuration asks for."""
    if status is None:
        return "train"
    if status.state == "diverged":
        return "nothing"
    if status.state == "finished" and (result := folder.result()):
        return "nothing" if _scored(config.decode, folder, result) else "score"
    return "go on" if status.updates else "train"


def _scored(decode: schema.Decode, folder: RunFolder, result: dict[str, Any]) -> bool:
    """Whether the trained weights have scores with these settings: their own, or of an evaluation since."""
    digest = decoding_hash(decode)
    if result.get("decoding_hash") == digest:
        return True
    found = folder.evaluation(digest) or {}
    scores = found.get("splits")
    if not isinstance(scores, dict) or found.get("update") != result.get("updates"):
        return False
    return all(isinstance(scores.get(split), dict) for split in splits.SCORED.values())
