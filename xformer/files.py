"""Files and folders that are either the old one or the new one, never half of each (fault S25)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from xformer.errors import UserError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place when the block ends without an error.

    It may be read by whom the user's mask lets, as any other file: mkstemp's 0600 would shut out the others
    who share a folder of runs.
    Raises OSError (disk full, read-only folder) with `path` untouched and nothing left behind.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o666 & ~_umask())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Make a folder beside `path` that takes its place when the block ends without an error.

    What stood there is deleted only when the new folder stands. Raises OSError with `path` untouched and
    nothing left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial"))
    old = work.with_suffix(".old")
    try:
        work.chmod(0o777 & ~_umask())
        yield work
        if path.exists():
            os.replace(path, old)  # a folder that is not empty can only be moved away
        try:
            os.replace(work, path)
        except OSError:
            if old.exists():
                os.replace(old, path)
            raise
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o077)  # there is no way to ask but to set it
    os.umask(mask)
    return mask


@contextlib.contextmanager
def written(path: Path) -> Iterator[None]:
    """Turn what a disk says while `path` is written into a UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace `path` by `data` as a whole."""
    with replacing(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by readable JSON; NaN and infinities are refused."""
    write_atomic(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))
