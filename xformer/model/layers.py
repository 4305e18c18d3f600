"""The layers that stacks are made of (section 3.1).

B batch, S source length, T target length, D d_model.
"""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from xformer.config import schema
from xformer.config.sizes.layout import Stack
from xformer.model.attention import CrossAttention, SelfAttention
from xformer.model.cache import KeyValueCache
from xformer.model.feedforward import build_feedforward
from xformer.model.masks import Mask
from xformer.model.norms import build_norm
from xformer.model.placement import Placement, build_placement
from xformer.model.positions import Rotate


class SelfLayer(nn.Module):
    """Self-attention, then feed-forward: an encoder's layer, and that of a single stack."""

    def __init__(self, config: schema.Model, stack: Stack) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.feedforward = build_feedforward(config.feedforward, config.d_model, config.d_ff)
        self.residual = _residual(config, stack)

    def forward(
        self, x_BTD: Tensor, mask: Mask, rotate: Rotate, cache: KeyValueCache | None = None
    ) -> Tensor:
        x_BTD = self.residual(
            x_BTD,
            lambda y_BTD: self.attention(y_BTD, mask, rotate, cache),
            self.feedforward,
        )
        return x_BTD


class CrossLayer(nn.Module):
    """Self-attention to the past, attention to the source, then feed-forward: the decoder's layer."""

    def __init__(self, config: schema.Model, stack: Stack) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feedforward = build_feedforward(config.feedforward, config.d_model, config.d_ff)
        self.residual = _residual(config, stack)

    def forward(
        self,
        x_BTD: Tensor,
        mask: Mask,
        rotate: Rotate,
        memory: tuple[Tensor, Tensor],
        memory_mask: Mask,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        x_BTD = self.residual(
            x_BTD,
            lambda y_BTD: self.attention(y_BTD, mask, rotate, cache),
            lambda y_BTD: self.cross_attention(y_BTD, memory, memory_mask),
            self.feedforward,
        )
        return x_BTD


def _residual(config: schema.Model, stack: Stack) -> Placement:
    norm = partial(build_norm, config.norm, config.d_model)
    return build_placement(config.placement, stack, norm, config.dropout)
