"""How far a long preparation is: a bar on a terminal, a line now and then in a file or a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")

SECONDS_BETWEEN_LINES = 30.0
_LOOK_EVERY = 1000  # items between looks at the clock


def shown(items: Iterable[T], what: str, total: int, unit: str) -> Iterator[T]:
    """The items, and on standard error how many of them there were so far."""
    if sys.stderr.isatty():
        yield from tqdm(items, what, total, unit=f" {unit}", leave=False)
        return
    said = time.monotonic()
    for done, item in enumerate(items):
        if done % _LOOK_EVERY == 0 and time.monotonic() - said > SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            print(f"{what}: {done:,} of {total:,} {unit}", file=sys.stderr, flush=True)
        yield item
