"""A foreign vocabulary in the order that ids have here: control tokens first, then the rest.

Elsewhere one token may play two parts: Marian's decoder starts with the padding token. Here each part has
a row of its own, so one that finds its row taken gets a copy of it, and the copy no probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from xformer.data.vocabulary import BOS, EOS, PAD, UNK

_NEVER = -1e4  # a logit whose exponential is 0 in single precision, whatever the others are

Parts = Mapping[int, int | None]
"""Which row plays each of PAD, BOS, EOS and UNK there; None where nothing does."""


@dataclass(frozen=True)
class Rows:
    """`old[new]` is the row there of each id here; `copies` are the ids whose row another id has too."""

    old: list[int]
    copies: frozenset[int]

    def matrix(self, theirs_WD: Tensor) -> Tensor:
        """Embeddings in our order."""
        return theirs_WD[torch.tensor(self.old)]

    def bias(self, theirs_W: Tensor) -> Tensor:
        """The bias of the logits in our order; copies are never written, and take no probability either."""
        bias_W = theirs_W[torch.tensor(self.old)]
        for token in self.copies:
            bias_W[token] = _NEVER
        return bias_W


def arrange(vocabulary: int, parts: Parts) -> Rows:
    """Order a vocabulary of so many rows; the end keeps its row before the others, since it is written."""
    taken: set[int] = set()
    control: dict[int, int] = {}
    copies = set()
    for token in (EOS, UNK, BOS, PAD):
        row = parts[token]
        if row is None or row in taken:
            copies.add(token)
        control[token] = next(iter(taken), 0) if row is None else row
        if row is not None:
            taken.add(row)
    rest = [row for row in range(vocabulary) if row not in taken]
    return Rows([control[token] for token in sorted(control)] + rest, frozenset(copies))
