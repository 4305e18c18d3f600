"""Multi-head attention (section 3.2.2), of a sequence to itself and of the target to the source.

d_k and d_v are free of each other and of d_model. With fewer key_value_heads than heads, query
heads share keys and values: multi-query (Shazeer 2019) and grouped-query (Ainslie et al. 2023).

B batch, T queries, S keys, D d_model, H heads, G key_value_heads, K d_k, V d_v.
"""

from __future__ import annotations

from torch import Tensor, nn

from xformer.config import schema
from xformer.model.cache import KeyValueCache
from xformer.model.kernel_choice import choose
from xformer.model.masks import Mask
from xformer.model.norms import RMSNorm
from xformer.model.positions import Rotate
from xformer.model.projections import Projections

# What the scores are multiplied by, as a power of d_k (section 3.2.1: 1/√d_k).
SCALES = {"sqrt_d_k": -0.5, "d_k": -1.0, "none": 0.0}


class Attention(nn.Module):
    """What both kinds share: heads, the kernel, and the projection back to the residual stream."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.heads, self.key_value_heads = config.heads, config.key_value_heads
        self.scale = config.d_k ** SCALES[config.attention.scale]
        # Over the features of one head, with one gain for all heads.
        self.query_norm = _query_key_norm(config)
        self.key_norm = _query_key_norm(config)
        self.dropout = config.attention.dropout
        self.kernel = config.attention.kernel
        self.output = nn.Linear(config.heads * config.d_v, config.d_model, bias=config.attention.bias)

    def attend(self, q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask) -> Tensor:
        kernel = choose(
            self.kernel, q_BHTK.device, q_BHTK.dtype, queries=q_BHTK.shape[2], keys=k_BGSK.shape[2]
        )
        drop = self.dropout if self.training else 0.0
        context_BHTV = kernel(q_BHTK, k_BGSK, v_BGSV, mask, self.scale, drop)
        y_BTD: Tensor = self.output(context_BHTV.transpose(1, 2).flatten(2))  # (B, T, H·V) → (B, T, D)
        return y_BTD


class SelfAttention(Attention):
    """Attention of a sequence to itself."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__(config)
        H, G, K, V = config.heads, config.key_value_heads, config.d_k, config.d_v
        parts = {"query": H * K, "key": G * K, "value": G * V}
        self.input = Projections(config.d_model, parts, bias=config.attention.bias)

    def forward(
        self, x_BTD: Tensor, mask: Mask, rotate: Rotate, cache: KeyValueCache | None = None
    ) -> Tensor:
        q, k, v = self.input(x_BTD)  # (B, T, H·K), (B, T, G·K), (B, T, G·V)
        q_BHTK = rotate(self.query_norm(split_heads(q, self.heads)))
        k_BGTK = rotate(self.key_norm(split_heads(k, self.key_value_heads)))
        v_BGTV = split_heads(v, self.key_value_heads)
        if cache is not None:
            k_BGTK, v_BGTV = cache.append(k_BGTK, v_BGTV)  # now of all positions so far
        return self.attend(q_BHTK, k_BGTK, v_BGTV, mask)


class CrossAttention(Attention):
    """Attention of the target to the encoder's output."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__(config)
        H, G, K, V = config.heads, config.key_value_heads, config.d_k, config.d_v
        self.query = Projections(config.d_model, {"query": H * K}, bias=config.attention.bias)
        self.memory = Projections(config.d_model, {"key": G * K, "value": G * V}, bias=config.attention.bias)

    def project(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys (B, G, S, K) and values (B, G, S, V) of the source, the same for every target."""
        k, v = self.memory(memory_BSD)  # (B, S, G·K), (B, S, G·V)
        k_BGSK = self.key_norm(split_heads(k, self.key_value_heads))
        return k_BGSK, split_heads(v, self.key_value_heads)

    def forward(self, x_BTD: Tensor, memory: tuple[Tensor, Tensor], mask: Mask) -> Tensor:
        # Rows that decode the same source stand side by side and attend to it as one row of more queries.
        queries_BTD = x_BTD.reshape(len(memory[0]), -1, x_BTD.shape[2])
        (q,) = self.query(queries_BTD)  # (B, T, H·K)
        return self.attend(self.query_norm(split_heads(q, self.heads)), *memory, mask).view_as(x_BTD)


def split_heads(x_BTN: Tensor, heads: int) -> Tensor:
    """Cut the last dimension into heads: (B, T, H·K) → (B, H, T, K)."""
    B, T, _ = x_BTN.shape
    return x_BTN.view(B, T, heads, -1).transpose(1, 2)


def _query_key_norm(config: schema.Model) -> nn.Module:
    wanted = config.attention.query_key_norm == "rms"
    return RMSNorm(config.d_k, config.norm.epsilon) if wanted else nn.Identity()
