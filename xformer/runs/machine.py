"""What is asked of the operating system: whether a process lives, how a new one is tuned and finds us."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# What a worker tells its libraries before they load; what is set already stays (docs/performance.md).
TUNING = {
    # Threads that wait for one another sleep. Spinning ones starve each other as soon as anything else runs
    # on the machine: training with two threads beside one other process was four times slower.
    "OMP_WAIT_POLICY": "PASSIVE",
    # Memory of large tensors is kept for the next ones instead of going back to the system after each, which
    # costs a page fault for every 4 KB when it is used again.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
    "MALLOC_TOP_PAD_": str(1 << 26),
}
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def with_package(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, in which Python finds this very package."""
    path = os.pathsep.join(filter(None, [str(_PACKAGE_PARENT), environment.get("PYTHONPATH")]))
    return {**environment, "PYTHONPATH": path}


def alive(pid: int) -> bool:
    """Whether a process of this machine still exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists and is somebody else's
        return True
    return True
