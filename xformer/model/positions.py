"""How a stack knows the order of its tokens.

A scheme overrides the hook that it needs and leaves the others as they are: `add` to the
embeddings, a `rotation` of queries and keys, or a `bias` on the scores of self-attention.
Cross-attention is told nothing about order (docs/design.md, decision 9).

Tables of constants are made in float64, kept in float32 and are no part of the state dict,
so that neither `model.to(bfloat16)` nor a checkpoint can make neighbouring positions alike.

B batch, H heads, T positions (queries), S positions (keys), D d_model, K d_k, R the part of K that is
turned, N buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from xformer.config import schema
from xformer.config.sizes.layout import Stack
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


Rotate = Callable[[Tensor], Tensor]
"""Turns queries or keys (B, H, T, K) by their positions, or leaves them as they are."""


def _unturned(x_BHTK: Tensor) -> Tensor:
    return x_BHTK


class Position(nn.Module):
    """A scheme that leaves everything as it is: attention then sees a set of tokens, not a sequence."""

    max_length: int | None = None
    """Positions that exist, None where the scheme goes on without end."""

    def add(self, x_BTD: Tensor, span: Span) -> Tensor:
        """Mark the embeddings of the tokens that stand at `span`."""
        return x_BTD

    def rotation(self, span: Span) -> Rotate:
        """Return what turns queries or keys that stand at `span` by their positions."""
        return _unturned

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
        rows = self._rows  # read once: another thread may put a table of its own in its place
        if len(rows) < span.end or rows.device != device:
            length = max(span.end, 2 * len(rows))
            self._rows = rows = self._make(length).to(device, torch.float32)
        return rows[span.index]


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


class Rotary(Position):
    """RoPE: pairs of features turned by an angle that grows with the position (Su et al. 2021, eq. 34).

    Feature i is paired with i + R/2, as GPT-NeoX and Llama lay them out. Scores then depend on the
    distance of query and key alone.
    """

    def __init__(self, d_k: int, theta: float, fraction: float) -> None:
        super().__init__()
        self.turned = round(fraction * d_k)
        self.table = Table(partial(_cosines_and_sines, turned=self.turned, theta=theta))

    def rotation(self, span: Span) -> Rotate:
        rows = self.table.at(span)  # (T, R) or (B, T, R)
        if rows.dim() == 3:
            rows = rows[:, None]  # the same for all heads
        return partial(self._turn, *rows.chunk(2, dim=-1))

    def _turn(self, cosine: Tensor, sine: Tensor, x_BHTK: Tensor) -> Tensor:
        half = self.turned // 2
        x1, x2, rest = x_BHTK[..., :half], x_BHTK[..., half : 2 * half], x_BHTK[..., 2 * half :]
        # The tables are float32, so the products are too, and only the result is rounded.
        turned = torch.cat([x1 * cosine - x2 * sine, x2 * cosine + x1 * sine], dim=-1).to(x_BHTK.dtype)
        return torch.cat([turned, rest], dim=-1) if rest.shape[-1] else turned


def _cosines_and_sines(length: int, turned: int, theta: float) -> Tensor:
    """Return cos | sin of pos / theta^(2i / R) in float64, (length, R)."""
    position_T1 = torch.arange(length, dtype=torch.float64)[:, None]
    even_R = torch.arange(0, turned, 2, dtype=torch.float64)
    angle_TR = position_T1 / theta ** (even_R / turned)
    return torch.cat([angle_TR.cos(), angle_TR.sin()], dim=1)


class Alibi(Position):
    """Scores lowered by slope · |distance|, each head with a slope of its own (Press et al. 2022)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes = tuple(alibi_slopes(heads))

    def bias(self, queries: Span, keys: Span) -> Tensor:
        distance = _offset(queries, keys).abs()[..., None, :, :]  # (…, 1, T, S)
        slope_H11 = torch.tensor(self.slopes, device=distance.device)[:, None, None]
        return -slope_H11 * distance


def alibi_slopes(heads: int) -> list[float]:
    """Return the authors' slopes: 2^(-8/n), 2^(-16/n), … for n heads where n is a power of two.

    Any other number takes all of the next lower power's, then every other one of the next higher power's.
    """
    power = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    if power < heads:
        slopes += alibi_slopes(2 * power)[0 : 2 * (heads - power) : 2]
    return slopes


class Relative(Position):
    """A trained number for each head and bucket of distances, added to the scores (Raffel et al. 2020)."""

    def __init__(
        self, config: schema.RelativePosition, d_model: int, heads: int, *, bidirectional: bool
    ) -> None:
        super().__init__()
        self.max_distance, self.bidirectional = config.max_distance, bidirectional
        self.d_model = d_model  # its initial weights depend on it
        self.weight_NH = nn.Parameter(torch.empty(config.buckets, heads))

    def bias(self, queries: Span, keys: Span) -> Tensor:
        bucket = relative_bucket(
            _offset(queries, keys), len(self.weight_NH), self.max_distance, bidirectional=self.bidirectional
        )
        # (…, T, S, H) → (…, H, T, S)
        return nn.functional.embedding(bucket, self.weight_NH).movedim(-1, -3)


def relative_bucket(offset: Tensor, buckets: int, max_distance: int, *, bidirectional: bool) -> Tensor:
    """Return the bucket of each offset (position of the key less that of the query), T5's rule.

    In both directions, keys after the query have the upper half of the buckets; else they share
    bucket 0. Half of a direction's buckets hold one distance each; the others grow with its logarithm
    up to `max_distance`, and the last holds all beyond.
    """
    first = torch.zeros_like(offset)
    if bidirectional:
        buckets //= 2
        first = (offset > 0) * buckets
        distance = offset.abs()
    else:
        distance = (-offset).clamp(min=0)
    exact = buckets // 2
    logarithm = (distance.clamp(min=1) / exact).log() / math.log(max_distance / exact)
    far = (exact + (logarithm * (buckets - exact)).long()).clamp(max=buckets - 1)
    return first + torch.where(distance < exact, distance, far)


def _offset(queries: Span, keys: Span) -> Tensor:
    """Position of each key less that of each query, (T, S) or (B, T, S)."""
    return keys.index[..., None, :] - queries.index[..., :, None]


def build_position(config: schema.Model, stack: Stack) -> Position:
    """Build the position scheme of one stack."""
    match config.position:
        case schema.SinusoidalPosition(layout=layout):
            return Sinusoidal(config.d_model, layout)
        case schema.LearnedPosition(max_length=max_length):
            # A single stack reads a source and a target of that length one after the other.
            return Learned(config.d_model, 2 * max_length if stack.kind == "decoder_only" else max_length)
        case schema.NoPosition():
            return Position()
        case schema.RotaryPosition(theta=theta, fraction=fraction):
            return Rotary(config.d_k, theta, fraction)
        case schema.AlibiPosition():
            return Alibi(config.heads)
        case schema.RelativePosition() as relative:
            return Relative(relative, config.d_model, config.heads, bidirectional=stack.kind != "decoder")
