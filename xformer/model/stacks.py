"""The encoder and the decoder: embeddings in, states out.

B batch, S source length, T target length, D d_model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from torch import Tensor, nn

from xformer.config import schema
from xformer.model.cache import DecoderState
from xformer.model.dropout import Dropout
from xformer.model.layers import DecoderLayer, EncoderLayer
from xformer.model.masks import Mask, causal_mask
from xformer.model.norms import build_norm
from xformer.model.placement import PLACEMENTS
from xformer.model.positions import Span, build_position


class Encoder(nn.Module):
    """The stack over the source; every position sees every real one."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.position = build_position(config)
        self.dropout = Dropout(config.dropout)
        layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.layers = cast(Sequence[EncoderLayer], layers)
        self.norm = _final_norm(config)

    def forward(self, embedded_BSD: Tensor, mask: Mask) -> Tensor:
        span = Span.run(0, embedded_BSD.shape[1], embedded_BSD.device)
        mask = mask.with_bias(self.position.bias(span, span))
        rotate = partial(self.position.rotate, span=span)
        x_BSD: Tensor = self.dropout(self.position.add(embedded_BSD, span))
        for layer in self.layers:
            x_BSD = layer(x_BSD, mask, rotate)
        x_BSD = self.norm(x_BSD)
        return x_BSD


class Decoder(nn.Module):
    """The stack over the target; every position sees itself, those before it, and the whole source."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.position = build_position(config)
        self.dropout = Dropout(config.dropout)
        layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.layers = cast(Sequence[DecoderLayer], layers)
        self.norm = _final_norm(config)

    def forward(self, embedded_BTD: Tensor, memory_BSD: Tensor, memory_mask: Mask) -> Tensor:
        """Run over whole targets at once, for training."""
        length, device = embedded_BTD.shape[1], embedded_BTD.device
        span = Span.run(0, length, device)
        mask = causal_mask(length, device).with_bias(self.position.bias(span, span))
        rotate = partial(self.position.rotate, span=span)
        x_BTD: Tensor = self.dropout(self.position.add(embedded_BTD, span))
        for layer in self.layers:
            memory = layer.cross_attention.project(memory_BSD)
            x_BTD = layer(x_BTD, mask, rotate, memory, memory_mask)
        x_BTD = self.norm(x_BTD)
        return x_BTD

    def start(self, memory_BSD: Tensor, memory_mask: Mask, max_length: int) -> DecoderState:
        """Project the source once and prepare empty caches."""
        memories = [layer.cross_attention.project(memory_BSD) for layer in self.layers]
        return DecoderState(memories, memory_mask, len(memory_BSD), max_length)

    def step(self, embedded_B1D: Tensor, state: DecoderState) -> Tensor:
        """Run over the next position of every row and advance the state."""
        here = Span.run(state.position, 1, embedded_B1D.device)
        seen = Span.run(0, state.position + 1, embedded_B1D.device)
        mask = Mask().with_bias(self.position.bias(here, seen))
        rotate = partial(self.position.rotate, span=here)
        x_B1D: Tensor = self.dropout(self.position.add(embedded_B1D, here))
        for layer, memory, cache in zip(self.layers, state.memories, state.caches, strict=True):
            x_B1D = layer(x_B1D, mask, rotate, memory, state.mask, cache)
        state.position += 1
        x_B1D = self.norm(x_B1D)
        return x_B1D


def _final_norm(config: schema.Model) -> nn.Module:
    needed = PLACEMENTS[config.placement.kind].final_norm
    return build_norm(config.norm, config.d_model) if needed else nn.Identity()
