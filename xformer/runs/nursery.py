"""A process that has imported everything and does nothing else, and forks a worker for each run of a sweep.

Importing torch and Lightning takes seconds, as long as a small run itself. The nursery does it once:
`python -m xformer.runs.nursery DESCRIPTOR` is given a listening Unix socket; whoever connects sends what
the worker needs (run folder, environment, and the descriptors of its lock and its log), hears the worker's
pid from the worker itself, and its exit code from the nursery. It ends when its standard input does, which
is when the sweep that started it is gone.

Python's own fork server forks for its parent only. Here the asking process is another one, a job of whichever
launcher, and a worker must lead a session of its own, hold the run's lock and write its log from the start.

A worker inherits modules and nothing more: the nursery has a single thread, has drawn no random number
and has opened no device. Where it cannot promise that, it ends, and workers are started plainly.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from xformer.runs.folder import RunFolder

_LARGEST_MESSAGE = 1 << 16


def main(descriptor: int) -> int:
    """Fork a worker for each request that comes to this socket, until standard input ends."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the whole group; workers hear of it from elsewhere
    with socket.socket(fileno=descriptor) as listener:
        # Nothing is imported before somebody asks: a sweep that is finished already should not wait for it.
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return 0
        _import_all()
        if _threads() != 1:
            return 1
        return _serve(listener)


def _serve(listener: socket.socket) -> int:
    callers: dict[int, socket.socket] = {}  # by the pid of their worker
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(timeout=0.05):
                if key.fileobj is not listener:
                    return 0
                caller, _ = listener.accept()
                if (pid := _fork(caller, listener)) is not None:
                    callers[pid] = caller
            for pid in list(callers):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    with callers.pop(pid) as caller, contextlib.suppress(OSError):
                        caller.send(json.dumps({"code": os.waitstatus_to_exitcode(status)}).encode())


def _fork(caller: socket.socket, listener: socket.socket) -> int | None:
    """Start a worker as the caller asks; None where the request cannot be read."""
    try:
        message, descriptors, _, _ = socket.recv_fds(caller, _LARGEST_MESSAGE, 2)
        request: dict[str, Any] = json.loads(message)
        lock, log = descriptors
    except (OSError, ValueError):
        caller.close()
        return None
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            listener.close()
            code = _become_worker(caller, request, lock, log)
        except BaseException:  # whatever it is, this process must not go on as a second nursery
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(lock)
    os.close(log)
    return pid


def _become_worker(caller: socket.socket, request: dict[str, Any], lock: int, log: int) -> int:
    """Do in the forked process what `process.watch` asks of a started one."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.set_inheritable(lock, True)  # ranks, loader processes: whoever works on the run holds its folder
    caller.send(json.dumps({"pid": os.getpid()}).encode())
    caller.close()
    from xformer.runs.worker import work

    return work(RunFolder(Path(request["folder"])))


def _import_all() -> None:
    import xformer.runs.carry_out
    import xformer.runs.trackers
    import xformer.runs.worker  # noqa: F401


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:  # another system: nobody has said anything against it
        return 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
