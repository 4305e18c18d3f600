"""One layer of the encoder and one of the decoder (section 3.1).

B batch, S source length, T target length, D d_model.
"""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from xformer.config import schema
from xformer.model.attention import CrossAttention, Rotate, SelfAttention
from xformer.model.cache import KeyValueCache
from xformer.model.feedforward import build_feedforward
from xformer.model.masks import Mask
from xformer.model.norms import build_norm
from xformer.model.placement import Placement, build_placement


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.feedforward = build_feedforward(config.feedforward, config.d_model, config.d_ff)
        self.residual = _residual(config, sublayers=2)

    def forward(self, x_BSD: Tensor, mask: Mask, rotate: Rotate) -> Tensor:
        x_BSD = self.residual(
            x_BSD,
            lambda y_BSD: self.attention(y_BSD, mask, rotate),
            self.feedforward,
        )
        return x_BSD


class DecoderLayer(nn.Module):
    """Self-attention to the past, attention to the source, then feed-forward."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feedforward = build_feedforward(config.feedforward, config.d_model, config.d_ff)
        self.residual = _residual(config, sublayers=3)

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


def _residual(config: schema.Model, sublayers: int) -> Placement:
    norm = partial(build_norm, config.norm, config.d_model)
    return build_placement(config.placement, sublayers, norm, config.dropout)
