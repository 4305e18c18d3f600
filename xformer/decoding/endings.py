"""Where a hypothesis may end: nowhere before its least length, and nowhere but there at its limit.

Shapes: A sentences, R rows (as many a sentence), W vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Endings:
    """Bars EOS or all else from the next token, by the hypotheses' length."""

    eos: int
    min_length: int  # tokens before the EOS
    shortest: int  # the least limit of any sentence, EOS counted: before it nothing need be looked up

    def restrict(self, logits_RW: Tensor, length: int, limit_A: Tensor) -> None:
        """Write -inf over what may not be the token number `length` (from 1), in place."""
        if length <= self.min_length:
            logits_RW[:, self.eos] = -torch.inf
        elif length >= self.shortest:
            self._only_eos(logits_RW, limit_A == length)

    def _only_eos(self, logits_RW: Tensor, last_A: Tensor) -> None:
        eos_R = logits_RW[:, self.eos].clone()
        last_R1 = last_A.repeat_interleave(len(logits_RW) // len(last_A)).unsqueeze(1)
        logits_RW.masked_fill_(last_R1, -torch.inf)
        logits_RW[:, self.eos] = eos_R
