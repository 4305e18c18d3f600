"""How numbers of things are said, in every room's messages."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
