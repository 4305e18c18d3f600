"""In which keys the configuration of a row differs from its base's, with both values.

Read from `config.yaml` as it stands, not through today's schema: a report shows runs of any version.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from xformer.study.secrets import without_secret
from xformer.study.text import ABSENT

# What names a run, where it lies, and what cannot change its result.
_PASSED_OVER = ("experiment", "changes", "seed", "runs_dir", "cache_dir", "tracking", "data.dir")


def config_differences(base: Path, row: Path) -> tuple[tuple[str, str, str], ...]:
    """Key, the base's value and the row's, for every key that differs, of two run folders.

    A side without the key has `ABSENT`. None at all where a file cannot be read.
    """
    try:
        ours, theirs = (dict(_leaves(_read(folder))) for folder in (base, row))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return ()
    keys = dict.fromkeys((*ours, *theirs))
    return tuple(
        (key, _written(key, ours), _written(key, theirs))
        for key in keys
        if ours.get(key, ABSENT) != theirs.get(key, ABSENT) and not _passed_over(key)
    )


def _read(folder: Path) -> dict[Any, Any]:
    values = yaml.load((folder / "config.yaml").read_text(encoding="utf-8"), Loader=_LOADER)
    return values if isinstance(values, dict) else {}


# The parser in C, where PyYAML has it, takes a tenth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _leaves(values: dict[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _passed_over(key: str) -> bool:
    return any(key == each or key.startswith(f"{each}.") for each in _PASSED_OVER)


def _written(key: str, values: dict[str, Any]) -> str:
    """A value as YAML and overrides write it; hidden where its key speaks of a secret."""
    if key not in values:
        return ABSENT
    value = values[key]
    names = {None: "null", True: "true", False: "false"}
    said = names[value] if value is None or isinstance(value, bool) else str(value)
    return without_secret(f"{key}={said}").removeprefix(f"{key}=")
