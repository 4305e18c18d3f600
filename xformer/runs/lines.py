"""Lines of text in and out of a command: a file or a pipe, plain or .gz.

Input comes in windows, each translated as a whole with its lines sorted by length. A file's windows are
large, so that a whole test set is one. A pipe's hold what has arrived: whoever writes one line and waits
for its translation gets it, and whoever writes fast gets large batches.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import select
import stat
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, cast

from xformer.data.corpus import stream_lines, text_of
from xformer.errors import UserError
from xformer.files import replacing, written

FILE_WINDOW = 20_000
FIRST_WINDOW = 32  # of a pipe: the first lines come out soon; then twice as many each time
_CHUNK = 1 << 16  # as much as a pipe holds
_STDIN = "standard input"


def windows(path: Path | None) -> Iterator[list[str]]:
    """The lines of a file, or of standard input, in order; raises UserError for what is not UTF-8."""
    if path is not None:
        lines = stream_lines(path)
        while window := list(islice(lines, FILE_WINDOW)):
            yield window
        return
    if sys.stdin is None:  # closed by whoever started the command
        raise UserError(f"{_STDIN}: is closed; give --input FILE")
    descriptor = sys.stdin.fileno()
    from_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    yield from _arriving(descriptor, first=FILE_WINDOW if from_file else FIRST_WINDOW)


def _arriving(descriptor: int, *, first: int) -> Iterator[list[str]]:
    """At least one line at a time, waited for, and those that have arrived by then, at most a window's."""
    waiting, number, window = _Waiting(descriptor), 0, first
    while True:
        raws = waiting.take(window)
        if not raws:
            return
        yield [text_of(raw, _STDIN, number + n) for n, raw in enumerate(raws, start=1)]
        number += len(raws)
        window = min(2 * window, FILE_WINDOW) if len(raws) == window else first


class _Waiting:
    """Whole lines of a descriptor that were read and not yet taken.

    Read without Python's buffers, which cannot be asked whether a read would have to wait.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: list[bytes] = []
        self._begun = b""  # a line whose end has not come
        self._ended = False

    def take(self, most: int) -> list[bytes]:
        """What is there, at least one line; none at the end."""
        while not self._ended and (not self._lines or (len(self._lines) < most and self._more_is_there())):
            self._read()
        taken, self._lines = self._lines[:most], self._lines[most:]
        return taken

    def _more_is_there(self) -> bool:
        return bool(select.select([self._descriptor], [], [], 0)[0])

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError as error:
            raise UserError(f"{_STDIN}: cannot be read: {error.strerror}") from None
        *whole, self._begun = (self._begun + data).split(b"\n")
        self._lines += [line + b"\n" for line in whole]
        if not data:
            self._ended = True
            self._lines += [self._begun] if self._begun else []  # a last line without its LF


@contextlib.contextmanager
def opened_output(path: Path | None) -> Iterator[IO[bytes]]:
    """A file that is there whole or not at all, compressed where it is named .gz; else standard output.

    Raises UserError where it cannot be written.
    """
    if path is None:
        if sys.stdout is None:
            raise UserError("standard output: is closed; give --output FILE")
        with open(sys.stdout.fileno(), "wb", closefd=False) as out:
            yield out
        return
    with written(path), _file(path) as file:
        if path.suffix != ".gz":
            yield file
            return
        # Without name and time, so that the same text gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield cast(IO[bytes], packed)


def _file(path: Path) -> contextlib.AbstractContextManager[IO[bytes]]:
    # A device or a named pipe must be written to, not replaced by a file.
    return path.open("wb") if path.exists() and not path.is_file() else replacing(path)
