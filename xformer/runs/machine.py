"""What is asked of the machine: whether a process lives, how one is tuned and finds us, which source runs."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# What a worker tells its libraries before they load; what is set already stays (docs/performance.md).
TUNING = {
    # Threads that wait for one another spin some microseconds, then sleep (GNU's OpenMP; else ignored).
    # Sleeping at once wastes the second core; spinning on starves everything else that runs on the machine.
    "GOMP_SPINCOUNT": "1000",
}
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def keep_memory() -> None:
    """Keep the memory of large tensors for the next ones, instead of giving it back to the system after each.

    Given back, it costs a page fault for every 4 KB when it is used again (docs/performance.md). glibc only,
    else nothing happens; nor where the environment has settings of its own for it.
    """
    mmap_threshold, trim_threshold, top_pad = -3, -1, -2  # as malloc.h numbers them
    if any(f"MALLOC_{name}_" in os.environ for name in ("MMAP_THRESHOLD", "TRIM_THRESHOLD", "TOP_PAD")):
        return
    if sys.platform != "linux" or not hasattr(library := ctypes.CDLL(None), "mallopt"):
        return
    if not library.mallopt(mmap_threshold, 1 << 30):
        library.mallopt(mmap_threshold, 1 << 25)  # the most that older releases take
    library.mallopt(trim_threshold, 2**31 - 1)
    library.mallopt(top_pad, 1 << 26)


def with_package(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, in which Python finds this very package."""
    path = os.pathsep.join(filter(None, [str(_PACKAGE_PARENT), environment.get("PYTHONPATH")]))
    return {**environment, "PYTHONPATH": path}


def alive(pid: int) -> bool:
    """Whether a process of this machine still exists."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # a damaged file may hold any number
        return False
    except PermissionError:  # it exists and is somebody else's
        return True
    return True


def commit() -> str | None:
    """The commit of the source tree that runs, with a `+` where files differ from it; None outside one.

    Installed in `project/.venv` the package lies within a repository too, which is not its own.
    """
    try:
        top, head = _git("rev-parse", "--show-toplevel", "HEAD").splitlines()
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if Path(top).resolve() != _PACKAGE_PARENT:
        return None
    return head + ("+" if changed.strip() else "")


def _git(*words: str) -> str:
    """What git answers in the package's folder; OSError without git, SubprocessError without an answer."""
    command = ["git", *words]
    return subprocess.run(
        command, cwd=_PACKAGE_PARENT, capture_output=True, text=True, timeout=5, check=True
    ).stdout
