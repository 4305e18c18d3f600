"""Scaled dot-product attention (equation 1), twice: written out, and fused by torch.

Both give the same result up to rounding: in bfloat16 the fused kernel is given a rounded bias, which is
the same for some neighbours among far keys. `kernel_choice` says which one runs where.

B batch, H heads, G key_value_heads, T queries, S keys, K d_k, V d_v.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from xformer.model.dropout import dropout
from xformer.model.masks import Mask


class Kernel(Protocol):
    """Attention of queries (B, H, T, K) over keys (B, G, S, K) and values (B, G, S, V): (B, H, T, V).

    Every H/G neighbouring query heads share one key and value head. A query with nothing to
    attend to gets zeros. `drop` is the dropout probability on the attention weights.
    """

    def __call__(
        self, q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask, scale: float, drop: float
    ) -> Tensor: ...


def attention_weights(q_BHTK: Tensor, k_BGSK: Tensor, mask: Mask, scale: float) -> Tensor:
    """Return softmax(scale · q kᵀ), (B, H, T, S): how much each query takes from each key."""
    B, H, T, _ = q_BHTK.shape
    return _weights(q_BHTK, k_BGSK, mask, scale).transpose(2, 3).reshape(B, H, T, -1)


def explicit(q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask, scale: float, drop: float) -> Tensor:
    """Attend in separate, readable products."""
    weights_BGSU = _weights(q_BHTK, k_BGSK, mask, scale)
    if drop > 0:
        weights_BGSU = dropout(weights_BGSU, drop)
    context_BGUV = weights_BGSU.transpose(2, 3) @ v_BGSV
    return _zero_where_empty(context_BGUV.view(*q_BHTK.shape[:3], -1), mask)


def _weights(q_BHTK: Tensor, k_BGSK: Tensor, mask: Mask, scale: float) -> Tensor:
    """The attention weights as (B, G, S, U): the U queries of the heads that share a key head, end to end.

    Shared keys are never copied so. Keys stand before queries: on a CPU, softmax over short rows that lie
    side by side takes a third of the time that it takes over short rows that lie end to end. It is taken in
    float32, where sums are exact.
    """
    B, H, T, K = q_BHTK.shape
    G = k_BGSK.shape[1]
    q_BGUK = (q_BHTK * scale).reshape(B, G, H // G * T, K)
    scores_BGSU = k_BGSK @ q_BGUK.transpose(2, 3)
    if mask.bias is not None:
        scores_BGSU = scores_BGSU + _keys_first(mask.bias, H // G)
    if mask.allowed is not None:
        scores_BGSU = scores_BGSU.masked_fill(~_keys_first(mask.allowed, H // G), float("-inf"))
    wide = torch.promote_types(scores_BGSU.dtype, torch.float32)
    return scores_BGSU.softmax(dim=2, dtype=wide).to(q_BHTK.dtype)


def _keys_first(x_BHTS: Tensor, shared: int) -> Tensor:
    """(B or 1, H or 1, T or 1, S) → (B or 1, G or 1, S, U or 1), where `shared` heads make a group."""
    B, H, T, S = x_BHTS.shape
    if (H, T) == (1, 1):  # the same for all queries
        return x_BHTS.transpose(2, 3)
    return x_BHTS.expand(B, max(H, shared), T, S).reshape(B, -1, shared * T, S).transpose(2, 3)


def fused(q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask, scale: float, drop: float) -> Tensor:
    """Attend with torch's fused kernels, which never write the scores to memory."""
    visible = mask.allowed
    if mask.bias is not None:
        visible = mask.bias.to(q_BHTK.dtype)
        if mask.allowed is not None:
            visible = visible.masked_fill(~mask.allowed, float("-inf"))
    context_BHTV = nn.functional.scaled_dot_product_attention(
        q_BHTK,
        k_BGSK,
        v_BGSV,
        attn_mask=None if mask.causal else visible,
        is_causal=mask.causal,
        dropout_p=drop,
        scale=scale,
        enable_gqa=q_BHTK.shape[1] != k_BGSK.shape[1],
    )
    return _zero_where_empty(context_BHTV, mask)


def _zero_where_empty(context_BHTV: Tensor, mask: Mask) -> Tensor:
    return context_BHTV if mask.empty is None else context_BHTV.masked_fill(mask.empty, 0.0)
