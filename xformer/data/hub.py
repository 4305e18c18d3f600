"""Corpora by name from the Hugging Face Hub, as plain text files that are then read like any others.

A commit of the repository is fetched, never a branch that moves on: the one that the configuration names, or
the newest one, which is looked up and noted. Rows stream through and are written as they come, so that a
corpus of forty million pairs needs no memory and no second copy on the disk. What a run is known by is the
text itself (xformer.data.corpus), so that the same text from files is the same corpus.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from xformer.config import schema, splits
from xformer.data import cache
from xformer.errors import UserError
from xformer.files import read_json, write_json

_NOTES = "fetched.json"

_log = logging.getLogger(__name__)


def fetch(config: schema.HubData, cache_dir: Path) -> Path:
    """The folder with `train`, `valid` and `test` of both languages, made once.

    Raises UserError where the library `datasets` is not installed, or the corpus cannot be had or has not
    the splits and columns that the configuration names.
    """
    asked = {key: value for key, value in asdict(config).items() if key not in ("max_length", "vocabulary")}
    name = cache.key("hub", asked, _local_state(Path(config.repository)))
    folder = cache_dir / "corpora" / f"{config.name}-{name}"
    cache.build_once(folder, _is_complete, lambda work: _build(work, config))
    return folder


def _is_complete(folder: Path) -> bool:
    """By sizes: whoever opens the corpus reads and hashes its text anyway."""
    try:
        sizes = read_json(folder / _NOTES)["bytes"]
        return all((folder / file).stat().st_size == size for file, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _local_state(repository: Path) -> list[Any]:
    """Of a copy on this disk, what changes when it does; nothing for a name on the Hub."""
    files = sorted(repository.rglob("*")) if repository.is_dir() else []
    stats = ((str(file), file.stat()) for file in files if file.is_file())
    return [[path, stat.st_size, stat.st_mtime_ns] for path, stat in stats]


def _build(work: Path, config: schema.HubData) -> None:
    if importlib.util.find_spec("datasets") is None:
        raise UserError(
            f"data.name={config.name}: needs the library datasets: pip install 'xformer[corpora]'\n"
            + _otherwise(config)
        )
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when the library is loaded
    commit = _commit(config)
    _log.info("%s: fetching %s, commit %s", config.name, config.repository, commit)
    lines = {role: _write(work, role, config, commit) for role in splits.CORPUS}
    sizes = {file.name: file.stat().st_size for file in sorted(work.iterdir())}
    notes = {"repository": config.repository, "subset": config.subset, "commit": commit}
    write_json(work / _NOTES, notes | {"lines": lines, "bytes": sizes})


def _write(work: Path, role: str, config: schema.HubData, commit: str | None) -> int:
    """Write one split; returns its number of lines."""
    there = getattr(config, role)
    count, rows = _rows(config, there, commit)
    lines = 0
    source, target = (work / f"{role}.{language}" for language in (config.source, config.target))
    with source.open("wb") as ours, target.open("wb") as theirs:
        for row in tqdm(rows, f"fetch {role}", count, unit=" pairs", leave=False, disable=None):
            for file, language in ((ours, config.source), (theirs, config.target)):
                file.write(_line(row, language, config).encode() + b"\n")
            lines += 1
    if count is not None and lines != count:
        raise UserError(
            f"data.repository={config.repository}: split {there} ended after {lines:,} of {count:,} "
            "pairs; start again"
        )
    return lines


def _line(row: dict[str, Any], language: str, config: schema.HubData) -> str:
    """One side of a pair, as one line: a cell may hold several."""
    columns = row["translation"] if isinstance(row.get("translation"), dict) else row
    if language not in columns:
        raise UserError(
            f"data.repository={config.repository}: has no language {language}, but {', '.join(columns)}; "
            "set data.source and data.target"
        )
    return " ".join(str(columns[language] or "").replace("\r\n", "\n").split("\n"))


def _rows(
    config: schema.HubData, split: str, commit: str | None
) -> tuple[int | None, Iterator[dict[str, Any]]]:
    """How many pairs a split has, where that is known, and the pairs, streamed."""
    import datasets

    with _told(config):
        found = datasets.load_dataset(
            config.repository, config.subset, split=split, revision=commit, streaming=True
        )
        info = (found.info.splits or {}).get(split)

    def stream() -> Iterator[dict[str, Any]]:
        rows = iter(found)
        while True:
            with _told(config):
                row = next(rows, None)
            if row is None:
                return
            yield row

    return (info.num_examples if info and info.num_examples else None), stream()


def _commit(config: schema.HubData) -> str | None:
    """Of the repository, by its full name; None for a copy on this disk.

    Asked for even where the configuration names it: without a network this fails at once, and streaming only
    after half a minute of trying.
    """
    if Path(config.repository).is_dir():
        return None
    from huggingface_hub import HfApi

    with _told(config):
        return HfApi().dataset_info(config.repository, revision=config.revision).sha


class _told:
    """Turns whatever the libraries raise into a UserError; they raise errors of many packages."""

    def __init__(self, config: schema.HubData) -> None:
        self._config = config

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            said = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
            raise UserError(
                f"data.repository={self._config.repository}: cannot be fetched: {said}\n"
                f"{_otherwise(self._config)}"
            ) from None


def _otherwise(config: schema.HubData) -> str:
    source, target = config.source, config.target
    return (
        f"Without a network, take the text from files, DIR/train.{source}, DIR/train.{target} and so on: "
        f"data=files data.dir=DIR data.source={source} data.target={target}. "
        "A copy of the repository in a folder does as well: data.repository=DIR"
    )
