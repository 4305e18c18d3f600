"""The supervisor's side of the nursery: start it for a sweep, ask it for workers, hear how they end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from xformer.runs.machine import TUNING, alive, with_package

# Where the nursery of this sweep listens; inherited by whatever processes a launcher starts.
ADDRESS = "XFORMER_NURSERY"
_SECONDS_TO_ANSWER = 120.0


@contextlib.contextmanager
def nursery() -> Iterator[None]:
    """Have workers forked from one process that has done the imports, while the sweep lasts."""
    with tempfile.TemporaryDirectory(
        prefix="xformer-"
    ) as folder:  # short: socket addresses have 107 characters
        address = str(Path(folder) / "nursery")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(address)
            listener.listen(64)  # requests wait here while the imports go on
            server = subprocess.Popen(
                [sys.executable, "-m", "xformer.runs.nursery", str(listener.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # numpy's own pool would start threads on import; workers compute with torch's.
                env=with_package(TUNING | os.environ | {"OPENBLAS_NUM_THREADS": "1"}),
                pass_fds=(listener.fileno(),),
            )
        outer = os.environ.get(ADDRESS)
        os.environ[ADDRESS] = address
        try:
            yield
        finally:
            del os.environ[ADDRESS]
            if outer is not None:
                os.environ[ADDRESS] = outer
            server.terminate()  # whoever asked has been answered; imports may still be going on
            server.wait()
            assert server.stdin
            server.stdin.close()


class ForkedWorker:
    """A worker that is somebody else's child, with the few methods of `Popen` that watching needs."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._connection = connection
        self._connection.setblocking(False)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it works."""
        if self.returncode is None:
            try:
                message = self._connection.recv(1024)
            except BlockingIOError:
                return None
            if message:
                self.returncode = json.loads(message)["code"]
            elif not alive(self.pid):  # the nursery is gone and cannot tell
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self) -> int:
        while (code := self.poll()) is None:
            time.sleep(0.02)
        self._connection.close()
        return code


def ask_for_worker(
    folder: Path, environment: Mapping[str, str], *, lock: int, log: int
) -> ForkedWorker | None:
    """Have the sweep's nursery fork a worker for `folder`; None where there is none that answers."""
    address = os.environ.get(ADDRESS)
    if not address:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(_SECONDS_TO_ANSWER)
    request = json.dumps({"folder": str(folder.resolve()), "environment": dict(environment)}).encode()
    try:
        connection.connect(address)
        socket.send_fds(connection, [request], [lock, log])
        answer = connection.recv(1024)
    except OSError:  # not on this machine, ended, or too busy
        answer = b""
    if not answer:
        connection.close()
        return None
    return ForkedWorker(connection, json.loads(answer)["pid"])
