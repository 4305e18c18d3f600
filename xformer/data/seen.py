"""What reading a whole file told of it, remembered until the file changes, as git's index does."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from xformer.data import cache
from xformer.files import read_json, write_json

T = TypeVar("T")

# A file may change again within one tick of the file system's clock and look the same, so what was touched so
# many seconds ago is not remembered yet.
_SETTLED = 2.0


def once(read: Callable[[Path], T], path: Path, memory: Path) -> T:
    """`read(path)`, or what it gave the last time, where the file is still the same by size, inode and times.

    The time of the last change to the inode is among them, which no program can set back. What `read` gives
    must survive JSON, and must not come to mean something else under its name. A `memory` that cannot be read
    or written only costs the time of reading again.
    """
    note = memory / f"{cache.key(read.__qualname__, str(path.resolve()))}.json"
    stamp = _stamp(path)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = read_json(note)
        if known["stamp"] == stamp:
            result: T = known["result"]
            return result
    result = read(path)
    if stamp == _stamp(path) and time.time() - path.stat().st_ctime > _SETTLED:
        with contextlib.suppress(OSError):
            memory.mkdir(parents=True, exist_ok=True)
            write_json(note, {"stamp": stamp, "result": result})
    return result


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
