"""Updates for the training loop: one item is one rank's share of one update (docs/design.md, 2 and 3).

The loader's state is the number of the next update: the plan knows the rest, so a resumed run asks
for the very update that a run never stopped would have asked for.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, Dataset

from xformer.data.batch import Batch, collate
from xformer.data.plan import UpdatePlan, shares
from xformer.data.store import ParallelStore


@dataclass(frozen=True)
class MicroBatch:
    """A batch and its number within the whole update, by which its dropout is seeded."""

    number: int
    batch: Batch


@dataclass(frozen=True)
class Update:
    """What one rank computes for one optimizer update; perhaps nothing, and it still takes part."""

    number: int  # counted from 0
    epoch: int  # counted from 0
    micro_batches: tuple[MicroBatch, ...]
    source_tokens: int  # of the whole update, over all ranks and micro-batches
    target_tokens: int

    def pin_memory(self) -> Update:
        """The same update in page-locked memory."""
        pinned = tuple(MicroBatch(micro.number, micro.batch.pin_memory()) for micro in self.micro_batches)
        return dataclasses.replace(self, micro_batches=pinned)


class UpdateDataset(Dataset[Update]):
    """All updates of a run as seen by one rank; item n is update n, counted from 0."""

    def __init__(self, store: ParallelStore, plan: UpdatePlan, updates: int, rank: int, world: int) -> None:
        self._store, self._plan, self._updates = store, plan, updates
        self._rank, self._world = rank, world

    def __len__(self) -> int:
        return self._updates

    def __getitem__(self, n: int) -> Update:
        if not 0 <= n < self._updates:
            raise IndexError(f"update {n} of {self._updates}")
        micro_batches = self._plan.update(n)
        mine = shares(list(enumerate(micro_batches)), self._rank, self._world)
        return Update(
            number=n,
            epoch=self._plan.epoch(n),
            micro_batches=tuple(MicroBatch(i, collate(self._store, indices)) for i, indices in mine),
            source_tokens=sum(int(self._store.source_lengths[i].sum()) for i in micro_batches),
            target_tokens=sum(int(self._store.target_lengths[i].sum()) for i in micro_batches),
        )


def update_loader(
    dataset: UpdateDataset, start: int, *, workers: int = 0, pin_memory: bool = False
) -> DataLoader[Update]:
    """Updates `start`, `start` + 1, … to the end of `dataset`, in order.

    Making an update takes a fraction of computing it, so that workers pay only where a GPU waits.
    """
    return DataLoader(
        dataset,
        batch_size=None,
        sampler=range(start, len(dataset)),
        generator=torch.Generator(),  # else every pass would draw from the run's own random stream
        num_workers=workers,
        pin_memory=pin_memory,
    )
