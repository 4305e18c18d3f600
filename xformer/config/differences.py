"""In which keys two configurations differ; without Hydra, so that reports stay light."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xformer.config import schema
from xformer.config.validate import dump

ABSENT = "–"
"""Stands for the value of a key that only the other configuration has."""

_LABELS = ("experiment", "changes")  # they name and describe a row and are no part of what is compared


@dataclass(frozen=True)
class Difference:
    """A resolved key with its value on either side; `ABSENT` where a side has no such key."""

    key: str
    left: Any
    right: Any


def differences(left: schema.Config, right: schema.Config) -> list[Difference]:
    """Every resolved key in which two configurations differ, in the schema's order."""
    ours, theirs = dict(leaves(left)), dict(leaves(right))
    keys = [*ours, *(key for key in theirs if key not in ours)]
    found = (Difference(key, ours.get(key, ABSENT), theirs.get(key, ABSENT)) for key in keys)
    return [each for each in found if each.left != each.right and each.key not in _LABELS]


def leaves(config: schema.Config) -> Iterator[tuple[str, Any]]:
    """Every resolved key with its plain value, in the schema's order."""
    yield from spread(dump(config))


def spread(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every full key under nested groups of values, each beginning with `prefix`, with its plain value."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from spread(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
