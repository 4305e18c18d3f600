"""One run, as its folder tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xformer.study.records import ConfigFile, ResultFile, StatusFile
from xformer.study.setting import Setting

# `lost` says running in its file, and its process is gone; `unreadable` has a file that cannot be used.
State = Literal["finished", "diverged", "failed", "interrupted", "running", "lost", "unreadable"]


@dataclass(frozen=True)
class Run:
    """A run folder, or the record of a row that could not start (`started` is False and `folder` a file).

    `overrides` are those that make the row another than the experiment it is named after.
    """

    folder: Path
    experiment: str
    seed: int | None
    state: State
    reason: str
    overrides: tuple[str, ...]
    row_hash: str | None
    setting: Setting
    started: bool = True
    status: StatusFile | None = None
    config: ConfigFile | None = None
    result: ResultFile | None = None

    @property
    def name(self) -> str:
        """What the run is called in a message."""
        words = (self.experiment, *self.overrides)
        return " ".join(words) if self.seed is None else " ".join((*words, f"seed {self.seed}"))
