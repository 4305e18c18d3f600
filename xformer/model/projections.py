"""Several linear maps of one input in a single matrix product.

B batch, T length, D inputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn


class Projections(nn.Module):
    """Several projections of one input, named, in a single matrix product."""

    def __init__(self, inputs: int, parts: dict[str, int], *, bias: bool) -> None:
        super().__init__()
        self.parts = parts
        self.weight = nn.Parameter(torch.empty(sum(parts.values()), inputs))
        self.bias = nn.Parameter(torch.empty(sum(parts.values()))) if bias else None

    def forward(self, x_BTD: Tensor) -> tuple[Tensor, ...]:
        packed = nn.functional.linear(x_BTD, self.weight, self.bias)
        return torch.split(packed, list(self.parts.values()), dim=-1)

    def matrices(self) -> Iterator[tuple[str, Tensor]]:
        """Yield each projection's own matrix, (outputs, inputs), by name."""
        yield from zip(self.parts, torch.split(self.weight, list(self.parts.values())), strict=True)

    def extra_repr(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.parts.items())
        return f"{self.weight.shape[1]} → {sizes}, bias={self.bias is not None}"
