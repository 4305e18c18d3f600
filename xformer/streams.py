"""Standard output and error of a command, where a terminal cannot show a character or a disk is full."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# What the operating system says of a wrong path, a full disk or missing rights; all else is a fault of ours.
_REFUSALS = frozenset(
    {
        errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.ENOTDIR,
        errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG,
    }
)  # fmt: skip


def replace_what_is_not_in_the_encoding() -> None:
    """Let an output without Unicode have `?` for a minus sign or an umlaut, where it would end in an error.

    Translations are written as bytes, in UTF-8 always.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def flush() -> None:
    """Write what is held back of standard output, while an error can still be told."""
    if sys.stdout is not None:  # closed by whoever started the command
        sys.stdout.flush()


def console() -> Console:
    """Rich's, which tells a reader that has gone, as `head` does, like any other writing does."""
    from rich.console import Console  # only where something is shown

    class Telling(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return Telling()


def refusal(error: OSError) -> str | None:
    """What the user can mend, in words; None where the error says nothing of a file or a disk.

    What could not be written to standard output is dropped, lest Python try again as it ends.
    """
    if error.errno not in _REFUSALS:
        return None
    if error.filename is not None:
        return f"{error.filename}: cannot be read or written: {error.strerror}"
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or not a real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return f"a file, or what standard output goes to, cannot be written: {error.strerror}"
