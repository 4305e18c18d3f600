"""What every architecture offers: token ids of two sentences in, a distribution over the next token out.

B batch, S source length, T target length, D d_model, W vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from xformer.config import schema
from xformer.model.embedding import Embedding


class Seq2Seq(nn.Module, ABC):
    """A Transformer that translates.

    Source padding stands at the right and is told by `source_mask_BS`, True = real token. Target padding
    stands at the right only, where the causal mask already hides it from every real position.
    """

    def __init__(self, config: schema.Model, vocabulary: int) -> None:
        super().__init__()
        self.embedding = Embedding(config, vocabulary)

    @property
    @abstractmethod
    def max_source_length(self) -> int | None:
        """Longest source, its end token included, that has positions; None without such a limit."""

    @property
    @abstractmethod
    def max_target_length(self) -> int | None:
        """Longest target, its end token included, that has positions; None without such a limit."""

    @abstractmethod
    def forward(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor) -> Tensor:
        """Return the last states over the target, (B, T, D); state t has seen target tokens 0 … t."""

    def logits(self, hidden_BTD: Tensor) -> Tensor:
        """Score every token of the vocabulary, (…, D) → (…, W)."""
        return self.embedding.logits(hidden_BTD)

    @abstractmethod
    def encode(self, source_BS: Tensor, source_mask_BS: Tensor) -> Tensor:
        """Return the last states over the source, (B, S, D)."""

    @abstractmethod
    def start(self, source_BS: Tensor, source_mask_BS: Tensor, max_length: int) -> Any:
        """Read the source and make ready to decode up to `max_length` positions; returns the state."""

    @abstractmethod
    def advance(self, token_B: Tensor, state: Any) -> Tensor:
        """Read one more target token per row and return its last state, (B, D)."""

    @torch.no_grad()
    def step(self, token_B: Tensor, state: Any) -> Tensor:
        """Read one more target token per row and return the logits of the next, (B, W)."""
        return self.logits(self.advance(token_B, state))
