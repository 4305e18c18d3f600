"""Folders that are built once: complete or not there, one process builds while the others wait."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import AcquireReturnProxy, FileLock, Timeout

from xformer.errors import UserError
from xformer.files import replacing_folder

_log = logging.getLogger(__name__)

_PATIENCE = 2.0  # seconds of waiting for another process before saying so


def key(*parts: Any) -> str:
    """Name, in 16 hex digits, of what is made from `parts` (anything JSON can hold)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build_once(folder: Path, is_complete: Callable[[Path], bool], build: Callable[[Path], None]) -> None:
    """Have `build` fill `folder`, unless `is_complete` finds it good already.

    The work is done beside it and renamed as a whole, so that a kill leaves either no folder or a
    complete one; a folder that is torn or was tampered with is replaced.
    Raises UserError where the cache cannot be written.
    """
    if is_complete(folder):
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder):
            if not is_complete(folder):
                _replace(folder, build)
    except OSError as error:
        raise UserError(
            f"cache_dir: cannot write {error.filename or folder}: {error.strerror or error}. "
            "Free some space there, or set runs_dir, in which it lies by default, or cache_dir itself to a "
            "folder that can be written."
        ) from error


def _lock(folder: Path) -> AcquireReturnProxy[FileLock]:
    lock = FileLock(f"{folder}.lock")
    try:
        return lock.acquire(timeout=_PATIENCE)
    except Timeout:
        _log.info("waiting for another process to finish %s", folder)
        return lock.acquire()


def _replace(folder: Path, build: Callable[[Path], None]) -> None:
    for abandoned in folder.parent.glob(f".{folder.name}.*.partial"):  # by a process that was killed
        shutil.rmtree(abandoned, ignore_errors=True)
    with replacing_folder(folder) as work:
        build(work)
