"""Token embeddings and the output projection, and which of the three are one matrix (section 3.4).

B batch, T length, D d_model, W vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from xformer.config import schema

# By tying: the names of the matrices that serve as source embedding, target embedding and output.
TYING: dict[str, tuple[str, str, str]] = {
    "three_way": ("shared", "shared", "shared"),
    "target": ("source", "target", "target"),
    "none": ("source", "target", "output"),
}


class Embedding(nn.Module):
    """Looks tokens up on the way in and scores the vocabulary on the way out."""

    def __init__(self, config: schema.Model, vocabulary: int) -> None:
        super().__init__()
        self.roles = TYING[config.tying]
        matrices = {role: nn.Parameter(torch.empty(vocabulary, config.d_model)) for role in self.roles}
        self.weight_WD = nn.ParameterDict(matrices)
        self.scale = math.sqrt(config.d_model) if config.embedding_scale else 1.0

    def source(self, ids_BT: Tensor) -> Tensor:
        return nn.functional.embedding(ids_BT, self.weight_WD[self.roles[0]]) * self.scale  # (B, T, D)

    def target(self, ids_BT: Tensor) -> Tensor:
        return nn.functional.embedding(ids_BT, self.weight_WD[self.roles[1]]) * self.scale  # (B, T, D)

    def logits(self, hidden_BTD: Tensor) -> Tensor:
        return nn.functional.linear(hidden_BTD, self.weight_WD[self.roles[2]])  # (B, T, W)
