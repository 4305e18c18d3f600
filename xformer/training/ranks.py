"""The processes that share a run, and the few things they tell each other outside of the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """One process among `world`. Every method that talks must be called by all of them, or none."""

    rank: int
    world: int
    device: torch.device  # where the process group expects its tensors

    def describe(self) -> str:
        """The devices of the run in words."""
        kind = "CPU" if self.device.type == "cpu" else torch.cuda.get_device_name(self.device)
        return kind if self.world == 1 else f"{self.world} × {kind}"

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This rank's part of a list that is dealt out one by one."""
        return items[self.rank :: self.world]

    def sum(self, values: Tensor) -> Tensor:
        """The sum over ranks, in float64 on the CPU."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def max(self, value: float) -> float:
        """The largest of the ranks' values."""
        return float(self._reduce(torch.tensor(value, dtype=torch.float64), dist.ReduceOp.MAX))

    def gather(self, items: Sequence[T]) -> list[T]:
        """The whole list again from the parts that `share` dealt, on every rank."""
        if self.world == 1:
            return list(items)
        parts: list[Any] = [None] * self.world
        dist.all_gather_object(parts, list(items))
        whole: list[Any] = [None] * sum(len(part) for part in parts)
        for rank, part in enumerate(parts):
            whole[rank :: self.world] = part
        return whole

    def part(self) -> None:
        """End what Lightning began: the ranks have nothing more to say to each other."""
        if self.world > 1:
            dist.destroy_process_group()

    def _reduce(self, values: Tensor, operation: Any) -> Tensor:
        wide = values.double()
        if self.world > 1:
            wide = wide.to(self.device, copy=True)
            dist.all_reduce(wide, operation)
        return wide.cpu()
