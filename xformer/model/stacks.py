"""Encoder, decoder, and the single stack that does the work of both: embeddings in, states out.

B batch, S source length, T target length, D d_model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, cast

from torch import Tensor, nn

from xformer.config import schema
from xformer.config.sizes.layout import Stack, decoder, encoder
from xformer.model.cache import DecoderState, KeyValueCache
from xformer.model.dropout import Dropout
from xformer.model.layers import CrossLayer, SelfLayer
from xformer.model.masks import Mask, causal_mask
from xformer.model.norms import build_norm
from xformer.model.placement import PLACEMENTS
from xformer.model.positions import Span, build_position

Layer = TypeVar("Layer", SelfLayer, CrossLayer)


class LayerStack(nn.Module, Generic[Layer]):
    """What all have: a position scheme, dropout on what goes in, layers, and perhaps a norm at the end."""

    def __init__(self, config: schema.Model, stack: Stack, make: type[Layer]) -> None:
        super().__init__()
        self.stack = stack
        self.position = build_position(config, stack)
        self.dropout = Dropout(config.dropout)
        self.layers: Sequence[Layer] = cast(
            Sequence[Layer], nn.ModuleList(make(config, stack) for _ in range(stack.layers))
        )
        needed = PLACEMENTS[config.placement.kind].final_norm
        self.norm = build_norm(config.norm, config.d_model) if needed else nn.Identity()


class SelfStack(LayerStack[SelfLayer]):
    """Layers over one sequence; who sees whom is the mask's affair."""

    def forward(
        self, embedded_BTD: Tensor, span: Span, mask: Mask, caches: Sequence[KeyValueCache] | None = None
    ) -> Tensor:
        """Run over tokens that stand at `span`; with caches, `mask` covers the tokens in them as well."""
        rotate = self.position.rotation(span)
        x_BTD: Tensor = self.dropout(self.position.add(embedded_BTD, span))
        for number, layer in enumerate(self.layers):
            x_BTD = layer(x_BTD, mask, rotate, caches[number] if caches else None)
        x_BTD = self.norm(x_BTD)
        return x_BTD


class Encoder(SelfStack):
    """The stack over the source; every position sees every real one."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__(config, encoder(config), SelfLayer)

    def encode(self, embedded_BSD: Tensor, mask: Mask) -> Tensor:
        """Run over whole sources."""
        span = Span.run(0, embedded_BSD.shape[1], embedded_BSD.device)
        states_BSD: Tensor = self(embedded_BSD, span, mask.with_bias(self.position.bias(span, span)))
        return states_BSD


class Decoder(LayerStack[CrossLayer]):
    """The stack over the target; every position sees itself, those before it, and the whole source."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__(config, decoder(config), CrossLayer)

    def forward(self, embedded_BTD: Tensor, memory_BSD: Tensor, memory_mask: Mask) -> Tensor:
        """Run over whole targets at once, for training."""
        length, device = embedded_BTD.shape[1], embedded_BTD.device
        span = Span.run(0, length, device)
        mask = causal_mask(length, device).with_bias(self.position.bias(span, span))
        rotate = self.position.rotation(span)
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
        rotate = self.position.rotation(here)
        x_B1D: Tensor = self.dropout(self.position.add(embedded_B1D, here))
        for layer, memory, cache in zip(self.layers, state.memories, state.caches, strict=True):
            x_B1D = layer(x_B1D, mask, rotate, memory, state.mask, cache)
        state.position += 1
        x_B1D = self.norm(x_B1D)
        return x_B1D
