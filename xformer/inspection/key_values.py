"""What a decoder must remember of each sentence while it decodes: read off its state as it grows.

Keys and values of self-attention are added with every target token; those of cross-attention are made once
from each source token. Fewer key_value_heads make both smaller (Shazeer 2019).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from xformer.model.seq2seq import Seq2Seq

BYTES = {"fp32": 4, "bf16": 2, "fp64": 8}
"""Of one number in each precision."""


@dataclass(frozen=True)
class KeyValues:
    """Numbers remembered for one sentence (one hypothesis of its beam)."""

    per_source_token: int
    per_target_token: int

    def sentence(self, source_tokens: int, target_tokens: int) -> int:
        """Numbers after so many tokens."""
        return source_tokens * self.per_source_token + target_tokens * self.per_target_token


def key_values(model: Seq2Seq) -> KeyValues:
    """Measure the state of the model itself: one more source token, one more target token."""
    model.eval()
    short, longer = _remembered(model, 2), _remembered(model, 3)
    return KeyValues(per_source_token=longer[0] - short[0], per_target_token=short[1] - short[0])


def _remembered(model: Seq2Seq, source_tokens: int) -> tuple[int, int]:
    """Numbers in the state of one sentence after one and after two target tokens."""
    source_BS = torch.zeros(1, source_tokens, dtype=torch.long)
    # Expecting a single token, the caches keep no room in store.
    state = model.start(source_BS, torch.ones_like(source_BS, dtype=torch.bool), 1)
    counts = []
    for _ in range(2):
        model.step(source_BS[:, 0], state)
        counts.append(sum(x.numel() for x in {id(x): x for x in _states(state)}.values()))
    return counts[0], counts[1]


def _states(holder: Any) -> Iterator[Tensor]:
    """Every floating-point tensor that an object holds, however deep; weights excepted."""
    match holder:
        case nn.Module() | nn.Parameter():
            return
        case Tensor():
            if holder.is_floating_point():
                yield holder
        case list() | tuple():
            for each in holder:
                yield from _states(each)
        case dict():
            yield from _states(list(holder.values()))
        case _ if hasattr(holder, "__dict__"):
            yield from _states(vars(holder))
