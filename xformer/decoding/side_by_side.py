"""Batches decoded side by side on the cores of a CPU, one thread a batch.

A step of decoding is a hundred small operations. Cut up for several threads each, they wait for one another
more than they compute; whole batches need not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Given = TypeVar("Given")
Found = TypeVar("Found")


def side_by_side(device: torch.device) -> int:
    """How many batches `each` works on at a time."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def each(work: Callable[[Given], Found], batches: Sequence[Given], device: torch.device) -> Iterator[Found]:
    """What `work` makes of each batch, in order.

    On a CPU as many are at work as PyTorch has threads, which is one again for every other use until the
    last is done. What PyTorch keeps for each thread (autocast, gradient mode) does not reach `work`.
    """
    threads = side_by_side(device)
    if threads == 1 or len(batches) == 1:
        yield from map(work, batches)
        return
    torch.set_num_threads(1)  # new threads begin with this number
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(work, batches)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
