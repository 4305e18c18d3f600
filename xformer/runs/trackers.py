"""Which tracker a run has: each run has its own, closed with the run's true state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from xformer.config import schema
from xformer.runs.folder import RunFolder, State, Status
from xformer.runs.tracking import Sample, Tracker


class Nothing:
    """No tracker, or a rank that only trains along."""

    def __init__(self) -> None:
        self.state: State = "failed"

    def log(self, values: dict[str, float], update: int) -> None:
        """Keep nothing."""

    def finished(self, result: dict[str, Any], samples: Sequence[Sample]) -> None:
        """Keep nothing."""


@contextlib.contextmanager
def tracking(folder: RunFolder, status: Status, *, first: bool) -> Iterator[Tracker]:
    """The tracker of one run, closed on every way out; only the first rank has one."""
    config = folder.config()
    if first and isinstance(config.tracking, schema.WandbTracking):
        from xformer.runs.wandb_tracking import wandb_run

        with wandb_run(config, config.tracking, folder, status) as tracker:
            yield tracker
    elif first and isinstance(config.tracking, schema.TensorBoardTracking):
        from xformer.runs.tensorboard_tracking import tensorboard_run

        with tensorboard_run(config, folder, status) as tracker:
            yield tracker
    else:
        yield Nothing()
