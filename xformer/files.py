"""Files that are either the old one or the new one, never half of each (fault S25)."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


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


def _umask() -> int:
    mask = os.umask(0o077)  # there is no way to ask but to set it
    os.umask(mask)
    return mask


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
