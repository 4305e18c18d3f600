"""Random draws in integer arithmetic, so that a seed gives the same bytes on every machine."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Draw:
    """A stream of draws known by its seed.

    Only `getrandbits` is used: the Mersenne Twister's 32-bit output is fixed for good, while the
    library's `choices`, `shuffle` and `sample` may change their algorithm between versions of Python.
    """

    def __init__(self, seed: int) -> None:
        self._bits = random.Random(seed).getrandbits

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1."""
        return (self._bits(32) * n) >> 32

    def chance(self, percent: int) -> bool:
        """Return True in `percent` of a hundred cases."""
        return self.below(100) < percent

    def pick(self, items: Sequence[Item]) -> Item:
        """Return one of the items, all equally likely."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in a random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


class Zipf(Generic[Item]):
    """Items in order of rank, the one at rank r (from 1) drawn in proportion to 1 / r: Zipf's law."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = tuple(items)
        self._cumulative = list(accumulate(1_000_000 // rank for rank in range(1, len(self.items) + 1)))

    def draw(self, draw: Draw) -> Item:
        """Return one item."""
        return self.items[bisect_right(self._cumulative, draw.below(self._cumulative[-1]))]
