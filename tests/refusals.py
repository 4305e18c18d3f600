"""What tests with random input allow besides success."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from xformer.errors import UserError


@contextlib.contextmanager
def at_most_refused(naming: str = "") -> Iterator[None]:
    """Nothing may go wrong in this block but one plain refusal that says `naming`, and ends it."""
    try:
        yield
    except UserError as refusal:
        message = str(refusal)
        if not message.strip() or naming not in message:
            raise AssertionError(f"refused without naming {naming!r}: {message!r}") from refusal
