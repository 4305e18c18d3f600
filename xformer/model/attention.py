"""Multi-head attention (section 3.2.2), of a sequence to itself and of the target to the source.

d_k and d_v are free of each other and of d_model. With fewer key_value_heads than heads, query
heads share keys and values: multi-query (Shazeer 2019) and grouped-query (Ainslie et al. 2023).

B batch, T queries, S keys, D d_model, H heads, G key_value_heads, K d_k, V d_v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from xformer.config import schema
from xformer.model.cache import KeyValueCache
from xformer.model.kernel_choice import choose
from xformer.model.masks import Mask

Rotate = Callable[[Tensor], Tensor]
"""Turns queries or keys (B, H, T, K) by their positions, or leaves them as they are."""


class Projections(nn.Module):
    """Several projections of one input, named, in a single matrix product."""

    def __init__(self, inputs: int, parts: dict[str, int], *, bias: bool) -> None:
        super().__init__()
        self.parts = parts
        self.weight = nn.Parameter(torch.empty(sum(parts.values()), inputs))
        self.bias = nn.Parameter(torch.empty(sum(parts.values()))) if bias else None

    def forward(self, x_BTD: Tensor) -> tuple[Tensor, ...]:
        packed = nn.functional.linear(x_BTD, self.weight, self.bias)
        return torch.split(packed, list(self.parts.values()), dim=-1)

    def matrices(self) -> Iterator[tuple[str, Tensor]]:
        """Yield each projection's own matrix, (outputs, inputs), by name."""
        yield from zip(self.parts, torch.split(self.weight, list(self.parts.values())), strict=True)

    def extra_repr(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.parts.items())
        return f"{self.weight.shape[1]} → {sizes}, bias={self.bias is not None}"


class Attention(nn.Module):
    """What both kinds share: heads, the kernel, and the projection back to the residual stream."""

    def __init__(self, config: schema.Model) -> None:
        super().__init__()
        self.heads, self.key_value_heads = config.heads, config.key_value_heads
        self.scale = config.d_k**-0.5
        self.dropout = config.attention.dropout
        self.kernel = config.attention.kernel
        self.output = nn.Linear(config.heads * config.d_v, config.d_model, bias=config.attention.bias)

    def attend(self, q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask) -> Tensor:
        kernel = choose(self.kernel, q_BHTK.device, q_BHTK.dtype)
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
        q_BHTK = rotate(split_heads(q, self.heads))
        k_BGTK = rotate(split_heads(k, self.key_value_heads))
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
        return split_heads(k, self.key_value_heads), split_heads(v, self.key_value_heads)

    def forward(self, x_BTD: Tensor, memory: tuple[Tensor, Tensor], mask: Mask) -> Tensor:
        (q,) = self.query(x_BTD)  # (B, T, H·K)
        return self.attend(split_heads(q, self.heads), *memory, mask)


def split_heads(x_BTN: Tensor, heads: int) -> Tensor:
    """Cut the last dimension into heads: (B, T, H·K) → (B, H, T, K)."""
    B, T, _ = x_BTN.shape
    return x_BTN.view(B, T, heads, -1).transpose(1, 2)
