"""Ends a rank that was asked to end and cannot, since it waits for another one that has died or is slow.

Such a wait is inside a library, where Python's own handlers of signals do not run; a thread does. torchrun
would wait 30 s for it. The signal is the same where torchrun ends the ranks after the death of one and where
the user wants the run to stop; the run folder says whether the user does.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from xformer.runs.process import SECONDS_TO_STOP

SECONDS = 15.0  # after the first signal, where another rank has died
SECONDS_ASKED = (
    SECONDS_TO_STOP - 3
)  # to write a checkpoint in, and the last words before the supervisor kills


def guard(
    last_words: Callable[[bool], object],
    code: int,
    asked: Callable[[], bool],
    seconds: float = SECONDS,
    seconds_asked: float = SECONDS_ASKED,
) -> None:
    """From the first signal on, give this process `seconds` to end by itself; then `last_words` and its end.

    `asked` says whether the user wants the run to stop, where it has `seconds_asked`; `last_words` are told.
    """
    hears, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells)

    def wait() -> None:
        os.read(hears, 1)
        time.sleep(seconds)
        if by_user := asked():
            time.sleep(seconds_asked - seconds)
        try:
            last_words(by_user)
        finally:
            os._exit(code)

    threading.Thread(target=wait, daemon=True).start()
