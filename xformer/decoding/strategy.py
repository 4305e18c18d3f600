"""What every way of decoding offers: hypotheses of a batch of sources.

Ways of decoding are objects, siblings behind this one method: `SearchSettings` (beam search) and
`Sampling`. Whatever the way, a sentence's hypotheses depend on nothing but the sentence.

Shapes: B sentences, S source length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from xformer.decoding.protocol import Decodable, State


@dataclass(frozen=True)
class Hypothesis:
    """One translation as token ids, BOS and EOS left out."""

    ids: list[int]
    log_probability: float  # natural, EOS included: the model's own, whatever way found the hypothesis
    score: float  # log_probability / length_penalty


class Strategy(Protocol):
    """A way to get from a model to translations."""

    def hypotheses(
        self, model: Decodable[State], source_BS: Tensor, source_mask_BS: Tensor, /, *, bos: int, eos: int
    ) -> list[list[Hypothesis]]:
        """Hypotheses of every sentence, best first, never fewer than one.

        `source_mask_BS` is True at real tokens. The model should be in evaluation mode.
        """
