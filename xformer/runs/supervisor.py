"""One job of a command: check, freeze, start a worker, watch it, record how it ended.

The worker is a process of its own (docs/design.md, decision 4), so that nothing it does, exit and crash
included, reaches another job. Nothing heavy is imported here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
from collections.abc import Sequence

from xformer.config import schema
from xformer.errors import UserError
from xformer.runs import process
from xformer.runs.display import display_for
from xformer.runs.due import due, place, recorded
from xformer.runs.failures import forget_failure, record_failure
from xformer.runs.folder import BusyError, RunFolder, Status
from xformer.runs.following import follow
from xformer.runs.identity import Identity, repeatable, telling
from xformer.runs.nodes import Node, this_node
from xformer.runs.outcome import WRONG, Ending, Outcome


def supervise(
    config: schema.Config, overrides: Sequence[str], *, sweep: bool = False, alone: bool = True
) -> Outcome:
    """Run one configuration to its end, or find that nothing needs doing.

    `sweep`: a mistake in the data is recorded under `failed/`, since other rows go on.
    `alone`: no other run shares the terminal.
    """
    began = time.monotonic()
    try:
        node = this_node(config.trainer.num_nodes)
        identity, folder = place(config)
    except UserError as error:
        if sweep:  # the outcome has the reason too, should the disk be full
            with contextlib.suppress(OSError):
                record_failure(config, overrides, str(error))
        return _outcome(config, "wrong", reason=str(error))
    forget_failure(config, overrides)
    if kept := recorded(config, identity):
        return Outcome(config.experiment, config.seed, "skipped", str(kept), "done")
    try:
        if node.number > 0:
            ended = follow(config, folder, node)
        else:
            with folder.claim() as lock:
                ended = _Job(config, overrides, identity, folder, lock, alone, node).run()
    except BusyError as error:
        ended = _outcome(config, "refused", folder, str(error))
    except OSError as error:
        ended = _outcome(config, "failed", folder, f"{folder.path}: {error.strerror or error}")
    return dataclasses.replace(ended, seconds=time.monotonic() - began)


def _outcome(
    config: schema.Config,
    ending: Ending,
    folder: RunFolder | None = None,
    reason: str | None = None,
    by: int | None = None,
) -> Outcome:
    where = str(folder.path) if folder else None
    return Outcome(config.experiment, config.seed, ending, where, reason, signal=by)


@dataclasses.dataclass(frozen=True)
class _Job:
    """A run whose folder is held."""

    config: schema.Config
    overrides: Sequence[str]
    identity: Identity
    folder: RunFolder
    lock: int
    alone: bool
    node: Node

    def run(self) -> Outcome:
        before = self.folder.status()
        wanted = due(self.config, self.folder, before)
        if wanted == "nothing":
            return self._ended("skipped", before.reason if before else None)
        if wanted == "score":
            return self._score_again()
        self.folder.freeze(self.config)
        self.folder.write_status(
            Status(
                state="running",
                run_id=self.identity.run_id,
                row_hash=self.identity.row_hash,
                experiment=self.config.experiment,
                seed=self.config.seed,
                overrides=telling(self.overrides),
                words=repeatable(self.overrides),
                updates=before.updates if before else 0,
                updates_planned=self.config.trainer.updates,
                seconds_spent=before.seconds_spent if before else 0.0,
            )
        )
        devices = self.config.trainer.devices
        return self._judge(self._start(process.worker(self.folder.path, devices, self.node)))

    def _start(self, start: process.Start) -> process.Ended:
        display = display_for(f"{self.config.experiment} seed {self.config.seed}", alone=self.alone)
        return process.watch(
            start, self.folder, lock=self.lock, threads=self.config.trainer.threads, display=display
        )

    def _score_again(self) -> Outcome:
        """Other decoding settings for a trained run: into `evaluations/`, never over `result.json`."""
        ended = self._start(process.evaluation(self.folder.path, self.config))
        if ended.signal is not None:
            return self._ended("interrupted", by=ended.signal)
        return self._ended("finished") if ended.code == 0 else self._ended("failed", ended.what)

    def _judge(self, ended: process.Ended) -> Outcome:
        status = self.folder.status()
        state = status.state if status else "running"
        reason = status.reason if status else None
        if state == "interrupted":
            return self._ended("interrupted", reason, by=ended.signal or signal.SIGTERM)
        if ended.code == 0 and state in ("finished", "diverged"):
            return self._ended("finished" if state == "finished" else "diverged", reason)
        if status is not None and state != "failed":  # it died without a word
            reason = ended.what
            state = "interrupted" if ended.signal is not None else "failed"
            self.folder.write_status(status, state=state, reason=reason)
        if ended.signal is not None:
            return self._ended("interrupted", reason, by=ended.signal)
        return self._ended("wrong" if ended.code == WRONG else "failed", reason)

    def _ended(self, ending: Ending, reason: str | None = None, by: int | None = None) -> Outcome:
        return _outcome(self.config, ending, self.folder, reason, by)
