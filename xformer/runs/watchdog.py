"""Ends a rank that was asked to stop and cannot, since it waits for another one that has died.

Such a wait is inside a library, where Python's own handlers of signals do not run; a thread does. torchrun
would wait 30 s for it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

SECONDS = 15.0  # after the first signal; a checkpoint takes less


def guard(last_words: Callable[[], object], code: int, seconds: float = SECONDS) -> None:
    """From the first signal on, give this process so long to end by itself; then `last_words` and its end."""
    hears, tells = os.pipe()
    os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells)

    def wait() -> None:
        os.read(hears, 1)
        time.sleep(seconds)
        try:
            last_words()
        finally:
            os._exit(code)

    threading.Thread(target=wait, daemon=True).start()
