"""How a run ended, and what a command's exit code says of several."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from xformer.wording import counted

Ending = Literal["finished", "diverged", "skipped", "failed", "wrong", "refused", "interrupted"]

FINE, FAILED, WRONG, INTERRUPTED, PREEMPTED = 0, 1, 2, 130, 143


@dataclass(frozen=True)
class Outcome:
    """The end of one job of a command, as its summary tells it.

    `wrong` is a mistake in data or settings, found before the run had a folder or by its worker.
    """

    experiment: str
    seed: int
    ending: Ending
    folder: str | None = None  # of the run, or the record that stands for it
    reason: str | None = None
    seconds: float = 0.0
    signal: int | None = None  # that interrupted it
    node: int = 0  # of several machines, the one that says so; the first speaks for the run


def exit_code(outcomes: Sequence[Outcome], *, sweep: bool) -> int:
    """The exit code of a command with these outcomes (docs/design.md, Contracts)."""
    for outcome in outcomes:
        if outcome.ending == "interrupted":
            return INTERRUPTED if outcome.signal == signal.SIGINT else PREEMPTED
    endings = {outcome.ending for outcome in outcomes}
    if endings == {"wrong"} and not sweep:
        return WRONG
    return FAILED if endings & {"failed", "refused", "wrong"} else FINE


def summary(outcomes: Iterable[Outcome], planned: int) -> str:
    """Lines that name every run that did not finish, under a line that counts them all."""
    outcomes = list(outcomes)
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.ending] = counts.get(outcome.ending, 0) + 1
    if planned > len(outcomes):
        counts["not started"] = planned - len(outcomes)
    told = ", ".join(f"{count} {ending}" for ending, count in counts.items())
    lines = [f"{counted(planned, 'run')}: {told}"]
    for outcome in outcomes:
        if outcome.ending not in ("finished", "skipped"):
            where = f"\n      {outcome.folder}/log.txt" if outcome.folder else ""
            reason = f": {outcome.reason}" if outcome.reason else ""
            lines.append(f"  {outcome.ending} {outcome.experiment} seed {outcome.seed}{reason}{where}")
    return "\n".join(lines)
