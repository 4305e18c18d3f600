"""The worker as the operating system sees it: how it is started, watched, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

from xformer.config import schema, splits
from xformer.runs.display import Display
from xformer.runs.folder import RunFolder, note_stop
from xformer.runs.forked import ask_for_worker
from xformer.runs.identity import decoding_settings
from xformer.runs.machine import TUNING, with_package
from xformer.runs.nodes import ALONE, Node

SECONDS_TO_STOP = 30.0
SECONDS_BETWEEN_LOOKS = 0.2
# Ctrl-C, a request to end, and what clusters send some time before they end a job.
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
# Those after which a cluster wants to be told that the job should be started again.
REQUEUING = (signal.SIGUSR1, signal.SIGUSR2)
# Tells a worker whose child it is in all but name, so that it can stop when that process is gone.
SUPERVISOR = "XFORMER_SUPERVISOR"
# What a launcher says to the ranks of a run; left in the environment of a command they mean another run.
_RANKS = frozenset({"RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"})


class Process(Protocol):
    """What watching needs of a process, however it was started; it leads a session of its own."""

    pid: int

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""

    def wait(self) -> int:
        """The exit code, when it comes."""


@dataclass(frozen=True)
class Ended:
    """How a watched process ended: its exit code, negative for a signal, and who asked it to stop."""

    code: int
    signal: int | None

    @property
    def what(self) -> str:
        """In words."""
        if self.code >= 0:
            return f"the worker ended with exit code {self.code}"
        if -self.code == signal.SIGKILL and self.signal is not None:
            return (
                f"the worker was still busy {SECONDS_TO_STOP:.0f} s after it was asked to stop and was killed"
            )
        name = signal.Signals(-self.code).name
        hint = "; perhaps the machine ran out of memory" if -self.code == signal.SIGKILL else ""
        return f"the worker was killed by {name}{hint}"


Start = Callable[[Mapping[str, str], int, int], Process]
"""Starts a process in a session of its own, with this environment and the descriptors of lock and log."""


def plainly(command: Sequence[str]) -> Start:
    """Start `command`."""

    def start(environment: Mapping[str, str], lock: int, log: int) -> Process:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            pass_fds=(lock,),
        )

    return start


def worker(folder: Path, devices: int, node: Node = ALONE) -> Start:
    """Train the run in `folder`, one rank for each device; a single one is forked where a nursery is near."""
    module = ["-m", "xformer.runs.worker", str(folder)]
    if devices * node.count > 1:
        # torchrun dies of those that it does not handle, and its ranks, each in a session of its own, go on.
        handled = ",".join(number.name for number in (*STOPPING, signal.SIGHUP, signal.SIGQUIT))
        torchrun = ["torch.distributed.run", *node.torchrun(devices), f"--signals-to-handle={handled}"]
        return plainly([sys.executable, "-m", *torchrun, *module])

    def start(environment: Mapping[str, str], lock: int, log: int) -> Process:
        forked = ask_for_worker(folder, environment, lock=lock, log=log)
        return forked or plainly([sys.executable, *module])(environment, lock, log)

    return start


def evaluation(folder: Path, config: schema.Config) -> Start:
    """Score the trained run in `folder` with the decoding settings of `config`."""
    values = decoding_settings(config.decode)
    settings = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    command = [sys.executable, "-m", "xformer.cli", "evaluate", str(folder)]
    return plainly([*command, *settings, *(f"--split={split}" for split in splits.SCORED.values())])


def watch(
    start: Start, folder: RunFolder, *, lock: int, threads: int, display: Display, node: int = 0
) -> Ended:
    """Start a process, its output in this node's log, and watch until it and its children are gone.

    A signal that asks this process to stop is passed on; what has not stopped 30 s later is killed.
    `lock` is the descriptor that holds the folder; the process holds it too.
    """
    ours = {key: value for key, value in os.environ.items() if key not in _RANKS}
    environment = with_package(TUNING | ours | {SUPERVISOR: str(os.getpid()), "PYTHONUNBUFFERED": "1"})
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    with _stop_signals() as came:
        with open(folder.log(node), "ab") as log:
            process = start(environment, lock, log.fileno())
        passed_on = 0
        try:
            while process.poll() is None:
                time.sleep(SECONDS_BETWEEN_LOOKS)
                if came and not passed_on:
                    note_stop(lock)
                for number, _ in came[passed_on:]:
                    _signal(process, number)
                    passed_on += 1
                if came and time.monotonic() - came[0][1] > SECONDS_TO_STOP:
                    _signal(process, signal.SIGKILL)
                if status := folder.status():
                    display.show(status)
        finally:
            display.close()
            _signal(process, signal.SIGKILL)  # ranks that outlived their leader
            code = process.wait()
    asked = [number for number, _ in came]
    telling = [number for number in asked if number in REQUEUING]
    return Ended(code, next(iter(telling + asked), None))


@contextlib.contextmanager
def _stop_signals() -> Iterator[list[tuple[int, float]]]:
    """Collect the signals that ask to stop, with their times, instead of dying of them."""
    came: list[tuple[int, float]] = []
    if threading.current_thread() is not threading.main_thread():  # Python delivers signals to that one only
        yield came
        return

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, time.monotonic()))

    before = {number: signal.signal(number, note) for number in STOPPING}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signal(process: Process, number: int) -> None:
    """Signal a process and all its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
