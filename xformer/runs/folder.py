"""The run folder: the one truth about a run (docs/design.md, decision 6)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import FiniteFloat, TypeAdapter

from xformer.config import schema
from xformer.config.validate import dump, validate
from xformer.errors import UserError
from xformer.files import read_json, write_atomic, write_json

State = Literal["running", "finished", "diverged", "failed", "interrupted"]


_LOOKS, _SECONDS_OF_A_LOOK = 5, 0.02


class BusyError(Exception):
    """Another process holds the run folder."""


@dataclass(frozen=True)
class Status:
    """What `status.json` holds; times are seconds since 1970."""

    state: State
    run_id: str
    row_hash: str
    experiment: str
    seed: int
    overrides: list[str] = field(default_factory=list)  # those that label the row
    words: list[str] = field(default_factory=list)  # what to type to train it again
    reason: str | None = None
    phase: str = "starting"
    updates: int = 0
    updates_planned: int = 0
    loss: FiniteFloat | None = None
    tokens_per_second: FiniteFloat | None = None
    seconds_left: FiniteFloat | None = None
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    started: FiniteFloat = field(default_factory=time.time)
    updated: FiniteFloat = field(default_factory=time.time)
    ended: FiniteFloat | None = None
    seconds_spent: FiniteFloat = 0.0  # at work on the run, over all its starts


@dataclass(frozen=True)
class RunFolder:
    """The files of one run and how they are read and written."""

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

    @property
    def status_file(self) -> Path:
        return self.path / "status.json"

    @property
    def result_file(self) -> Path:
        return self.path / "result.json"

    def log(self, node: int = 0) -> Path:
        """What the worker printed; each machine of a run has its own."""
        return self.path / (f"log-node{node}.txt" if node else "log.txt")

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def evaluations(self) -> Path:
        return self.path / "evaluations"

    @property
    def tracking(self) -> Path:
        return self.path / "tracking"

    def hypotheses(self, split: str) -> Path:
        """The translations of a split, one a line."""
        return self.path / "hypotheses" / f"{split}.txt"

    def freeze(self, config: schema.Config) -> None:
        """Write the resolved configuration, from which everything else follows."""
        text = yaml.safe_dump(dump(config), sort_keys=False, allow_unicode=True)
        write_atomic(self.config_file, text)

    def config(self) -> schema.Config:
        """Read the resolved configuration back. Raises UserError where there is none or it is damaged."""
        if not self.config_file.is_file():
            wrong = "not a run folder, it has no config.yaml" if self.path.is_dir() else "no such folder"
            raise UserError(f"{self.path}: {wrong}; give one that `xformer status` lists")
        try:
            values = yaml.safe_load(self.config_file.read_text(encoding="utf-8"))
        except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:  # 2026-02-31 is a ValueError
            raise UserError(f"{self.config_file}: cannot be read: {error}") from None
        if not isinstance(values, dict):
            raise UserError(f"{self.config_file}: holds no configuration")
        try:
            return validate(values)
        except UserError as error:
            raise UserError(f"{self.config_file}: {error}") from None

    def status(self) -> Status | None:
        """The last written state; None where there is none or it cannot be read.

        Keys that a later version wrote are passed over.
        """
        try:
            return _status_reader().validate_json(self.status_file.read_bytes(), strict=True)
        except (OSError, ValueError):
            return None

    def write_status(self, status: Status, **changes: Any) -> Status:
        """Write `status` with `changes` and the present time; returns what was written."""
        now = time.time()
        ended = None if changes.get("state", status.state) == "running" else now
        status = replace(status, **{"updated": now, "ended": ended, **changes})
        write_json(self.status_file, asdict(status))
        return status

    def result(self) -> dict[str, Any] | None:
        """What `result.json` holds; None where there is none or it cannot be read."""
        return _read(self.result_file)

    def evaluation(self, digest: str) -> dict[str, Any] | None:
        """What `evaluations/<digest>.json` holds; None where there is none or it cannot be read."""
        return _read(self.evaluations / f"{digest}.json")

    def lock(self, node: int = 0) -> Path:
        """Locked while the run is worked on, and names who does; each machine of a run has its own."""
        return self.path / (f".lock-node{node}" if node else ".lock")

    def asked_to_stop(self, node: int = 0) -> bool:
        """Whether whoever holds the folder has been asked to stop, and has noted it (`note_stop`)."""
        try:
            return self.lock(node).read_text(errors="replace").endswith(_ASKED)
        except OSError:
            return False

    @contextlib.contextmanager
    def claim(self, node: int = 0) -> Iterator[int]:
        """Hold the folder against any other process; yields the descriptor that holds it.

        Of a run on several machines, each holds its own part. A child that inherits the descriptor holds
        the folder too, so it stays held until both are gone, and never longer, however they end. Raises
        BusyError that names the holder.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.lock(node), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                _lock(descriptor)
            except BlockingIOError:
                holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
                raise BusyError(f"{self.path}: is being run by {holder}; wait for it or stop it") from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
            yield descriptor
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Raises BlockingIOError where another process holds the lock, and not just looks at it (`held`)."""
    for _ in range(_LOOKS):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(_SECONDS_OF_A_LOOK)
    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def held(folder: Path) -> bool:
    """Whether some process holds the run of a folder, by its lock, which none outlives."""
    try:
        with open(RunFolder(folder).lock()) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


_ASKED = ", which was asked to stop"


def note_stop(lock: int) -> None:
    """Let the worker, and who waits for the folder, know that whoever holds it was asked to stop."""
    with contextlib.suppress(OSError):  # a full disk must not keep anybody from stopping
        os.pwrite(lock, _ASKED.encode(), os.fstat(lock).st_size)


@cache
def _status_reader() -> TypeAdapter[Status]:
    return TypeAdapter(Status)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        values = read_json(path)
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
