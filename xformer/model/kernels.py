"""Scaled dot-product attention (equation 1), twice: written out, and fused by torch.

Both give the same result; `kernel_choice` says which one runs where.

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
    G, S = k_BGSK.shape[1:3]
    # The query heads of a group are laid end to end, so that shared keys are never copied.
    q_BGRK = q_BHTK.reshape(B, G, H // G * T, -1)
    scores_BHTS = (q_BGRK @ k_BGSK.transpose(-2, -1)).view(B, H, T, S) * scale
    if mask.bias is not None:
        scores_BHTS = scores_BHTS + mask.bias
    if mask.allowed is not None:
        scores_BHTS = scores_BHTS.masked_fill(~mask.allowed, float("-inf"))
    # In float32: the sums are exact, and torch's softmax of short rows in bfloat16 takes twice as long.
    wide = torch.promote_types(scores_BHTS.dtype, torch.float32)
    return scores_BHTS.softmax(dim=-1, dtype=wide).to(q_BHTK.dtype)


def explicit(q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask, scale: float, drop: float) -> Tensor:
    """Attend in separate, readable products."""
    weights_BHTS = attention_weights(q_BHTK, k_BGSK, mask, scale)
    if drop > 0:
        weights_BHTS = dropout(weights_BHTS, drop)
    B, H, T, S = weights_BHTS.shape
    G, V = v_BGSV.shape[1], v_BGSV.shape[3]
    context_BHTV = (weights_BHTS.view(B, G, H // G * T, S) @ v_BGSV).view(B, H, T, V)
    return _zero_where_empty(context_BHTV, mask)


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
