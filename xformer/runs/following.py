"""A machine that trains along: the first of a run's nodes decides, holds the folder and scores."""

from __future__ import annotations

import time

from xformer.config import schema
from xformer.runs import process
from xformer.runs.display import Silent
from xformer.runs.folder import RunFolder, Status
from xformer.runs.nodes import Node
from xformer.runs.outcome import Ending, Outcome

_SECONDS_TO_WAIT = 900.0  # for the first node to open the run folder


def follow(config: schema.Config, folder: RunFolder, node: Node) -> Outcome:
    """Start this node's ranks once the first node has opened the run, and stay until they end.

    Raises BusyError where this node's part is being run already.
    """

    def ended(ending: Ending, reason: str | None = None, by: int | None = None) -> Outcome:
        return Outcome(
            config.experiment, config.seed, ending, str(folder.path), reason, signal=by, node=node.number
        )

    status = _opened(folder)
    if status is None:
        return ended("failed", f"node 0 has not opened {folder.path} in {_SECONDS_TO_WAIT:.0f} s")
    if status.state in ("finished", "diverged"):
        return ended("skipped")
    with folder.claim(node.number) as lock:
        found = process.watch(
            process.worker(folder.path, config.trainer.devices, node),
            folder,
            lock=lock,
            threads=config.trainer.threads,
            display=Silent(),
            node=node.number,
        )
    if found.signal is not None:
        return ended("interrupted", by=found.signal)
    return ended("finished") if found.code == 0 else ended("failed", f"on node {node.number} {found.what}")


def _opened(folder: RunFolder) -> Status | None:
    """The run's state as soon as it says that there is work, or that there is none."""
    deadline = time.monotonic() + _SECONDS_TO_WAIT
    while time.monotonic() < deadline:
        status = folder.status()
        there = folder.config_file.exists()
        if there and status is not None and status.state in ("running", "finished", "diverged"):
            return status
        time.sleep(0.5)
    return None
