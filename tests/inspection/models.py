"""A model of another architecture than any in the package: one stack over source and target in a row.

B batch, S source length, T target length, D d_model, F inner width, W vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Cell(nn.Module):
    """Two linear maps around a softmax, beside a norm; no part is called as in the package."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.level = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.level(x + self.mix(x))

    def mix(self, x: Tensor) -> Tensor:
        weights = (x @ x.transpose(1, 2)).softmax(-1)
        return self.down(self.up(weights @ x))


class OneStack(nn.Module):
    """Reads both sentences as one and gives the states of the target."""

    def __init__(self, width: int = 12, inner: int = 20, vocabulary: int = 30, depth: int = 4) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.cells = nn.ModuleList(Cell(width, inner) for _ in range(depth))

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        x = self.table(torch.cat([source, target], dim=1)) * source_mask.any()
        for cell in self.cells:
            x = cell(x)
        return x[:, source.shape[1] :]

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.table.weight.T
