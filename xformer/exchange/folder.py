"""The folder of an export: whole or absent, and never in place of anything else.

A mark in it says what it is and of which run, so that the same command again may replace it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xformer.errors import UserError
from xformer.files import read_json, replacing_folder, write_json, written

MARK = "export.json"


@dataclass(frozen=True)
class Origin:
    """What an export was made from."""

    format: str
    run: str  # name of the run folder
    update: int
    averaged: int  # checkpoints in the mean

    def __str__(self) -> str:
        mean = f", the mean of its last {self.averaged} checkpoints" if self.averaged > 1 else ""
        return f"{self.run} at update {self.update}{mean}"


def check_free(out: Path, format: str, names: frozenset[str]) -> None:
    """Raise UserError unless `out` is absent, empty, or an export in `format` with files of those names only.

    To be called before anything slow.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; give a folder with --out")
    there = {path.name for path in out.iterdir()} if out.exists() else set()
    if not there:
        return
    if read_mark(out).get("format") != format:
        raise UserError(f"{out}: holds something else than an export to {format}; give another --out")
    if foreign := sorted(there - names - {MARK}):
        raise UserError(
            f"{out}: holds {', '.join(foreign)}, which no export to {format} wrote; give another --out"
        )


@contextlib.contextmanager
def export_folder(out: Path, origin: Origin) -> Iterator[Path]:
    """Yield the folder to write to; it becomes `out` when the block ends. Raises UserError on a full disk."""
    with written(out), replacing_folder(_plain(out)) as work:
        write_json(work / MARK, asdict(origin))
        yield work


def read_mark(folder: Path) -> dict[str, Any]:
    """What the mark says, nothing where there is none."""
    try:
        return read_object(folder / MARK)
    except UserError:
        return {}


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object from a file; raises UserError where there is none."""
    try:
        value = read_json(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: holds no JSON object")
    return value


def _plain(out: Path) -> Path:
    """With a name of its own, which `.` and `..` have not."""
    return out if out.name not in ("", "..") else out.resolve()
