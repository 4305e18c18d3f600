"""TensorBoard: event files under RUN/tracking, for `tensorboard --logdir runs`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from lightning.pytorch.loggers import TensorBoardLogger

from xformer.config import schema
from xformer.runs.folder import RunFolder, State, Status
from xformer.runs.tracking import Attempts, Sample, facts, scores
from xformer.training.checkpoints import newest_loadable, update_of


class _TensorBoard:
    def __init__(self, logger: TensorBoardLogger, known: dict[str, Any]) -> None:
        self.state: State = "failed"  # until somebody knows better
        self._logger, self._known = logger, known
        self._attempts = Attempts("TensorBoard")

    def log(self, values: dict[str, float], update: int) -> None:
        with self._attempts.attempt():
            self._logger.log_metrics(values, step=update)

    def finished(self, result: dict[str, Any], samples: Sequence[Sample]) -> None:
        lines = ["source | reference | translation", "--- | --- | ---"]
        lines += [" | ".join(map(_cell, (each.source, each.reference, each.hypothesis))) for each in samples]
        with self._attempts.attempt():
            self._logger.log_hyperparams(self._known, scores(result))
            self._logger.experiment.add_text("translations", "\n".join(lines), result["updates"])

    def close(self) -> None:
        with self._attempts.attempt():
            self._logger.experiment.add_text("state", self.state)
            self._logger.finalize("success" if self.state in ("finished", "diverged") else "failed")


@contextlib.contextmanager
def tensorboard_run(config: schema.Config, folder: RunFolder, status: Status) -> Iterator[_TensorBoard]:
    """The run's own event file; what a resumed run writes takes the place of what it repeats.

    A run goes on from its checkpoint, which may be behind what `status.json` says of a run that was killed.
    """
    resume = newest_loadable(folder.checkpoints)
    logger = TensorBoardLogger(
        str(folder.tracking), name="tensorboard", version="", default_hp_metric=False,
        purge_step=update_of(resume) + 1 if resume else 0,
    )  # fmt: skip
    tracker = _TensorBoard(logger, facts(config, status))
    try:
        yield tracker
    finally:
        tracker.close()


def _cell(text: str) -> str:
    """Text as a cell of a Markdown table, where it means itself."""
    for character in "\\`*_{}[]<>#|":
        text = text.replace(character, f"\\{character}")
    return text
