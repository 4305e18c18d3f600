"""What every tracker is told: trackers are copies of what the run folder says."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xformer.config import schema, splits
from xformer.config.sizes.accounting import parameters
from xformer.config.sizes.flops import flops
from xformer.config.validate import dump
from xformer.runs.folder import State, Status
from xformer.runs.machine import commit

_log = logging.getLogger("xformer")

SAMPLES = 20  # translations of the dev set that a tracker shows


@dataclass(frozen=True)
class Sample:
    """One sentence of the dev set and what the run made of it."""

    source: str
    reference: str
    hypothesis: str


class Tracker(Protocol):
    """Where numbers go while a run is under way."""

    state: State  # how the run ended

    def log(self, values: dict[str, float], update: int) -> None:
        """Keep the numbers of one row of `metrics.csv`."""

    def finished(self, result: dict[str, Any], samples: Sequence[Sample]) -> None:
        """Keep what `result.json` says, and some translations."""


class Attempts:
    """What a tracker cannot take is told once in the log and ends no run: the run folder has it all."""

    def __init__(self, name: str) -> None:
        self._name, self._told = name, False

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # the tracker's own, and those of whatever it is made of
            if not self._told:
                _log.warning(
                    "tracking: %s did not take all of it: %s: %s", self._name, type(error).__name__, error
                )
            self._told = True


def facts(config: schema.Config, status: Status) -> dict[str, Any]:
    """What a run is found by on a dashboard: its configuration, and what follows from it."""
    vocabulary = config.tokenizer.vocabulary
    return dump(config) | {
        "row_hash": status.row_hash,
        "overrides": status.overrides,
        "commit": commit(),
        "parameters": sum(parameters(config.model, vocabulary).values()),
        "flops_per_token": flops(config.model, vocabulary).token,
    }


def scores(result: dict[str, Any]) -> dict[str, float]:
    """The final scores of a result and what they cost, flat."""
    found = {
        f"{split}/{name}": float(value)
        for split in splits.SCORED
        for name, value in result[split].items()
        if isinstance(value, (int, float))
    }
    cost = ("parameters", "flops_per_token", "train_tokens_per_second", "peak_memory_bytes", "wall_seconds")
    return found | {name: float(result[name]) for name in cost}


def pick(lines: Sequence[Sample]) -> list[Sample]:
    """Some of them, spread over the whole."""
    step = max(1, len(lines) // SAMPLES)
    return list(lines[::step][:SAMPLES])
