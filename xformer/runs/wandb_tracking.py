"""Weights & Biases: online where a key or login is found and it answers, else offline under RUN/tracking."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import wandb
from lightning.pytorch.loggers import WandbLogger

from xformer.config import schema
from xformer.runs.folder import RunFolder, State, Status
from xformer.runs.tracking import Attempts, Sample, facts, scores
from xformer.runs.wandb_login import wanted_mode

log = logging.getLogger("xformer")


class _Wandb:
    def __init__(self, logger: WandbLogger) -> None:
        self.state: State = "failed"  # until somebody knows better
        self._logger, self._run = logger, logger.experiment
        self._attempts = Attempts("Weights & Biases")

    def log(self, values: dict[str, float], update: int) -> None:
        with self._attempts.attempt():
            self._logger.log_metrics(values, step=update)

    def finished(self, result: dict[str, Any], samples: Sequence[Sample]) -> None:
        with self._attempts.attempt():
            self._run.summary.update(scores(result) | {"commit": result["commit"]})
            self._logger.log_table(
                "translations",
                columns=["source", "reference", "translation"],
                data=[[each.source, each.reference, each.hypothesis] for each in samples],
                step=result["updates"],
            )

    def close(self) -> None:
        with self._attempts.attempt():
            self._run.summary.update({"state": self.state})
            self._run.finish(exit_code=0 if self.state in ("finished", "diverged") else 1)


@contextlib.contextmanager
def wandb_run(
    config: schema.Config, settings: schema.WandbTracking, folder: RunFolder, status: Status
) -> Iterator[_Wandb]:
    """The run's own record, gone on with where the run is, closed with its state."""
    folder.tracking.mkdir(exist_ok=True)

    def begin(mode: str) -> _Wandb:
        return _Wandb(
            WandbLogger(
                project=settings.project,
                entity=settings.entity,
                name=f"{config.experiment} s{config.seed}",
                id=_agents_id() or status.run_id,
                resume="allow",
                group=settings.group or config.experiment,
                tags=[config.experiment, config.scale.name],
                save_dir=str(folder.tracking),
                mode=mode,
                config=facts(config, status),
                settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False),
            )
        )

    tracker = _begun(begin, settings)
    try:
        yield tracker
    finally:
        tracker.close()


def _begun(begin: Callable[[str], _Wandb], settings: schema.WandbTracking) -> _Wandb:
    """Online where that is possible; a tracker is a copy, so that a server out of reach ends no run.

    Raises wandb's own errors where the user has asked for one mode and no other.
    """
    if settings.mode != "auto":
        return begin(settings.mode)
    try:
        return begin(wanted_mode())
    except wandb.errors.Error as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        log.warning("tracking: Weights & Biases cannot be reached, recorded offline instead: %s", why)
        wandb.teardown()  # its service holds on to the run's id
        return begin("offline")


def _agents_id() -> str | None:
    """The id that a wandb agent expects the run it has started to report under (sweeps/wandb.yaml)."""
    return os.environ.get("WANDB_RUN_ID") if "WANDB_SWEEP_ID" in os.environ else None
