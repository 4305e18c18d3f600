"""How a stack knows the order of its tokens.

A scheme overrides the hook that it needs and leaves the others as they are:
`add` to the embeddings, `rotate` queries and keys, or `bias` the scores of self-attention.
Cross-attention is told nothing about order (docs/design.md, decision 9).

Tables of constants are made in float64, kept in float32 and are no part of the state dict,
so that neither `model.to(bfloat16)` nor a checkpoint can make neighbouring positions alike.

B batch, H heads, T positions (queries), S positions (keys), D d_model, K d_k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from xformer.config import schema
from xformer.errors import UserError


@dataclass(frozen=True)
class Span:
    """The positions, counted from 0, at which some tokens stand.

    index: (T,), or (B, T) where sentences stand at different ones.
    end: a bound above every index, known without asking the device.
    """

    index: Tensor
    end: int

    @classmethod
    def run(cls, start: int, length: int, device: torch.device) -> Span:
        """Return `length` positions in a row."""
        return cls(torch.arange(start, start + length, device=device), start + length)


class Position(nn.Module):
    """A scheme that leaves everything as it is: attention then sees a set of tokens, not a sequence."""

    max_length: int | None = None
    """Positions that exist, None where the scheme goes on without end."""

    def add(self, x_BTD: Tensor, span: Span) -> Tensor:
        """Mark the embeddings of the tokens that stand at `span`."""
        return x_BTD

    def rotate(self, x_BHTK: Tensor, span: Span) -> Tensor:
        """Turn queries or keys by their positions."""
        return x_BHTK

    def bias(self, queries: Span, keys: Span) -> Tensor | None:
        """Return what is added to the scores, (H, T, S) or (B, H, T, S)."""
        return None


class Table:
    """One row of float32 constants per position, made when first needed and again when too short."""

    def __init__(self, rows: Callable[[int], Tensor]) -> None:
        self._make = rows
        self._rows = torch.empty(0, 0)

    def at(self, span: Span) -> Tensor:
        """Return the rows at `span`: its shape and one more dimension."""
        device = span.index.device
        if len(self._rows) < span.end or self._rows.device != device:
            length = max(span.end, 2 * len(self._rows))
            self._rows = self._make(length).to(device, torch.float32)
        return self._rows[span.index]


def sinusoids(length: int, d_model: int, layout: str) -> Tensor:
    """Return sin and cos of pos / 10000^(2i / d_model) in float64, (length, d_model) (section 3.5).

    layout: `interleaved` has sin at 2i and cos at 2i + 1, `halves` all sines before all cosines.
    """
    position_T1 = torch.arange(length, dtype=torch.float64)[:, None]
    even_D = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle_TD = position_T1 / 10000 ** (even_D / d_model)  # (T, D/2)
    sine_TD, cosine_TD = angle_TD.sin(), angle_TD.cos()[:, : d_model // 2]
    if layout == "halves":
        return torch.cat([sine_TD, cosine_TD], dim=1)
    table_TD = torch.empty(length, d_model, dtype=torch.float64)
    table_TD[:, 0::2], table_TD[:, 1::2] = sine_TD, cosine_TD
    return table_TD


class Sinusoidal(Position):
    """Fixed sines and cosines of geometrically spaced wavelengths, added (section 3.5)."""

    def __init__(self, d_model: int, layout: str) -> None:
        super().__init__()
        self.table = Table(partial(sinusoids, d_model=d_model, layout=layout))

    def add(self, x_BTD: Tensor, span: Span) -> Tensor:
        # float32 + bfloat16 is added in float32, and only the sum is rounded.
        return (x_BTD + self.table.at(span)).to(x_BTD.dtype)


class Learned(Position):
    """One trained vector per position, added; there are no positions beyond `max_length`."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.weight = nn.Parameter(torch.empty(max_length, d_model))

    def add(self, x_BTD: Tensor, span: Span) -> Tensor:
        if span.end > len(self.weight):
            raise UserError(
                f"model.position.max_length={self.max_length}: a sequence of {span.end} tokens has no "
                "learned position for its last ones; shorten it or train with a larger max_length"
            )
        return x_BTD + nn.functional.embedding(span.index, self.weight)


def build_position(config: schema.Model) -> Position:
    """Build the position scheme of one stack."""
    match config.position:
        case schema.SinusoidalPosition(layout=layout):
            return Sinusoidal(config.d_model, layout)
        case schema.LearnedPosition(max_length=max_length):
            return Learned(config.d_model, max_length)
