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

    Raises OSError (disk full, read-only folder) with `path` untouched and nothing left behind.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


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
