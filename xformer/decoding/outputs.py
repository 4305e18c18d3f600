"""The model's distribution over the next token, a block of rows at a time.

The logits of a whole batch are tens of megabytes a step. Made, normalised and ranked in blocks, they take the
same memory again and again, instead of asking the system for more of it, and large batches do not fill it.

Shapes: R rows, N rows of a block, W vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from torch import Tensor

from xformer.decoding.protocol import Decodable, InTwoParts, State

# Logits of a block on a CPU (32 MB).
BLOCK = 2**23


class Outputs(Generic[State]):
    """What a model says of its next tokens."""

    def __init__(self, model: Decodable[State]) -> None:
        self._model = model
        self._vocabulary = BLOCK  # until the first block shows it: one sentence is then a block

    def blocks(self, token_R: Tensor, state: State, together: int) -> Iterator[Tensor]:
        """Log-probabilities of the position after token_R, N × W, block by block, to be overwritten.

        `together` neighbouring rows, those of one sentence, are never parted.
        """
        model = self._model
        if token_R.device.type != "cpu" or not isinstance(model, InTwoParts):
            yield model.step(token_R, state).float().log_softmax(-1)
            return
        hidden_RD, first = model.advance(token_R, state), 0
        while first < len(hidden_RD):
            rows = max(1, BLOCK // (self._vocabulary * together)) * together
            logits_NW = model.logits(hidden_RD[first : first + rows]).float()
            self._vocabulary = logits_NW.size(1)
            yield logits_NW.log_softmax(-1)
            first += rows
