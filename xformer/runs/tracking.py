"""Trackers are copies of what the run folder says; each run has its own, closed with the run's true state.

Weights & Biases is online where a key or a login is found, else offline under RUN/tracking; it never asks.
"""

from __future__ import annotations

import contextlib
import netrc
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger

from xformer.config import schema
from xformer.config.validate import dump
from xformer.runs.folder import RunFolder, State, Status


@dataclass
class Tracker:
    """Where numbers go while a run is under way; `state` is how the run ended."""

    loggers: Sequence[Logger] = ()
    state: State = "failed"  # until somebody knows better
    scores: dict[str, Any] = field(default_factory=dict)

    def finished(self, result: dict[str, Any]) -> None:
        """Keep the final scores for the tracker's summary."""
        self.scores = {
            f"{split}/{name}": value
            for split in ("dev", "test")
            for name, value in result[split].items()
            if isinstance(value, (int, float))
        } | {
            name: result[name]
            for name in ("parameters", "flops_per_token", "train_tokens_per_second", "commit")
        }


@contextlib.contextmanager
def tracking(folder: RunFolder, status: Status, *, first: bool) -> Iterator[Tracker]:
    """The trackers of one run, closed on every way out; only the first rank has any."""
    config = folder.config()
    if not first or not isinstance(config.tracking, schema.WandbTracking):
        yield Tracker()
        return
    logger = _wandb(config, config.tracking, folder, status)
    tracker = Tracker([logger])
    try:
        yield tracker
    finally:
        run = logger.experiment
        run.summary.update({"state": tracker.state, **tracker.scores})
        run.finish(exit_code=0 if tracker.state in ("finished", "diverged") else 1)


def _wandb(config: schema.Config, settings: schema.WandbTracking, folder: RunFolder, status: Status) -> Any:
    import wandb
    from lightning.pytorch.loggers import WandbLogger

    folder.tracking.mkdir(exist_ok=True)
    offline = settings.mode == "offline" or (settings.mode == "auto" and not _has_login())
    return WandbLogger(
        project=settings.project,
        entity=settings.entity,
        name=f"{config.experiment} s{config.seed}",
        id=status.run_id,
        resume="allow",
        group=settings.group or config.experiment,
        tags=[config.experiment, config.scale.name],
        save_dir=str(folder.tracking),
        mode="offline" if offline else "online",
        config=dump(config) | {"row_hash": status.row_hash, "overrides": status.overrides},
        settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False),
    )


def _has_login() -> bool:
    """A key in the environment or a login on this machine; asking the library could end in a prompt."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = os.environ.get("WANDB_BASE_URL", "api.wandb.ai").removeprefix("https://").removeprefix("http://")
    path = os.environ.get("NETRC") or Path.home() / ".netrc"
    try:
        return netrc.netrc(str(path)).authenticators(host.rstrip("/")) is not None
    except (OSError, netrc.NetrcParseError):
        return False
