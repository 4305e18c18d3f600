"""A run is known by its content (docs/design.md, decision 5)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from xformer.config import schema
from xformer.config.keys import key_of

# What cannot change the trained weights beyond rounding, or is known by its content instead.
NEUTRAL = frozenset(
    {
        "experiment",
        "changes",
        "runs_dir",
        "cache_dir",
        "done_dir",
        "tracking",
        "scale",  # every size it gives is resolved into the keys that use it
        "data",  # its text and its limit on length enter by content
        "model.match",  # what it solves is in model.d_ff
        "decode",  # a finished run is scored again, not trained again
        "trainer.accelerator",
        "trainer.devices",
        "trainer.num_nodes",
        "trainer.rank_timeout",
        "trainer.threads",
        "trainer.log_every",
        "trainer.validate_every",
        "trainer.validation_sentences",
        "trainer.keep_checkpoints",
    }
)


@dataclass(frozen=True)
class Identity:
    """What tells one run from another.

    Two rows can be one configuration (`modern/nope` and `pitfalls/no_positions`), and then share both hashes.
    """

    run_hash: str
    row_hash: str  # the same for every seed
    name: str  # of the run folder, below the experiment's
    run_id: str  # the same in every tracker and result


def identify(config: schema.Config, *, data_hash: str, tokenizer_hash: str, data_name: str) -> Identity:
    """The identity of a configuration on a given text and tokenizer."""
    content = essence(config) | {
        "data": data_hash,
        "max_length": config.data.max_length,
        "tokenizer_content": tokenizer_hash,
    }
    run_hash = _digest(content)
    row_hash = _digest({key: value for key, value in content.items() if key != "seed"})
    name = safe_name(f"{config.scale.name}-{data_name}-s{config.seed}-{run_hash}")
    return Identity(run_hash, row_hash, name, safe_name(f"{config.experiment}-{run_hash}"))


def essence(settings: Any, prefix: str = "") -> dict[str, Any]:
    """The nested keys that can change the result.

    A key that was added to the schema later is left out while it has the default that stands for the
    time before it, so that older results stay found.
    """
    kept: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if prefix + field.name in NEUTRAL or (field.default is not MISSING and value == field.default):
            continue
        if is_dataclass(value):
            kept[field.name] = essence(value, f"{prefix}{field.name}.")
        else:
            kept[field.name] = str(value) if isinstance(value, Fraction) else value
    return kept


def telling(overrides: Sequence[str]) -> list[str]:
    """The overrides that make a row another than its experiment's file says; its label in reports."""
    named_elsewhere = {"experiments", "sweeps", "seed", "scale"}
    # A scale's own keys, and a match, leave other sizes than the file's.
    untold = NEUTRAL - {"scale", "model.match"} | {"hydra"}
    told = []
    for override in overrides:
        key = key_of(override)
        if not (key in untold | named_elsewhere or key.split(".")[0] in untold or key.startswith("hydra/")):
            told.append(override)
    return told


def repeatable(overrides: Sequence[str]) -> list[str]:
    """The words that lead to the run again on any machine, but for `DIR`, where its text lies.

    Those of places, trackers, engines and sweep files are left out.
    """
    places = {"runs_dir", "cache_dir", "done_dir", "tracking", "hydra", "sweeps"}
    words = []
    for override in overrides:
        key = key_of(override)
        if re.split("[./]", key)[0] in places:
            continue
        value = override.partition("=")[2].strip("'\"")
        moves = key in ("data.dir", "data.repository") and value.startswith(("/", ".", "~"))
        words.append(f"{key}=DIR" if moves or key == "data.dir" else override)
    return words


def decoding_hash(decode: schema.Decode) -> str:
    """What the scores of a trained run depend on besides its weights."""
    return _digest({key: value for key, value in essence(decode).items() if key in schema.DECODING})


def decoding_settings(decode: schema.Decode) -> dict[str, Any]:
    """The same by name, defaults included, for files that are read without the schema."""
    return {key: getattr(decode, key) for key in schema.DECODING}


def safe_name(text: str) -> str:
    """A file name that is also a plain word on any command line (fault S04)."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", text)


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
