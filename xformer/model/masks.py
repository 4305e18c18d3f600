"""Which keys a query may attend to.

One convention everywhere: boolean, **True = may be attended**. Masks keep broadcast dimensions
of size 1 wherever they can, and are made once per forward pass, not once per layer.

B batch, H heads, T queries (of a target), S keys (of a source), L = S + T.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Mask:
    """What attention may see and how much; `Mask()` lets every query see every key.

    allowed: (B or 1, 1, T or 1, S), None where all keys may be attended.
    empty: (B, 1, T or 1, 1), True for queries with nothing to attend to. Their rows of `allowed`
        are opened, so that the softmax stays finite, and attention then gives them zeros.
    causal: says of `allowed` that it is exactly "no key after the query", which fused kernels
        have a faster way to compute.
    bias: (B or 1, H, T, S), added to the scores by position schemes such as ALiBi.
    """

    allowed: Tensor | None = None
    empty: Tensor | None = None
    causal: bool = False
    bias: Tensor | None = None

    def with_bias(self, bias: Tensor | None) -> Mask:
        """Add what a position scheme returns, (H, T, S) or (B, H, T, S)."""
        if bias is None:
            return self
        # Torch's fused kernel for CPUs wants all four dimensions.
        return replace(self, bias=bias if bias.dim() == 4 else bias[None], causal=False)

    def select(self, rows: Tensor) -> Mask:
        """Reorder, drop or repeat the sentences of a padding mask."""
        chosen = [None if x is None else x.index_select(0, rows) for x in (self.allowed, self.empty)]
        return replace(self, allowed=chosen[0], empty=chosen[1])


def padding_mask(real_BS: Tensor) -> Mask:
    """Let every query see the real tokens (True) of its own sentence."""
    if _known_now(real_BS) and bool(real_BS.all()):
        return Mask()
    real_B11S = real_BS[:, None, None, :]
    empty_B111 = ~real_B11S.any(dim=-1, keepdim=True)
    if _known_now(real_BS) and not bool(empty_B111.any()):
        return Mask(real_B11S)
    return Mask(real_B11S | empty_B111, empty_B111)


def causal_mask(length: int, device: torch.device) -> Mask:
    """Let query t see keys 0 … t."""
    seen_TT = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return Mask(seen_TT[None, None], causal=True)


def prefix_mask(real_BS: Tensor, target: int) -> Mask:
    """Let source tokens see the real source, and each of `target` tokens also those up to itself."""
    B, S = real_BS.shape
    causal_TT = torch.ones(target, target, dtype=torch.bool, device=real_BS.device).tril()
    source_BSL = nn.functional.pad(real_BS, (0, target))[:, None].expand(-1, S, -1)
    target_BTL = torch.cat([real_BS[:, None].expand(-1, target, -1), causal_TT.expand(B, -1, -1)], dim=2)
    allowed_B1LL = torch.cat([source_BSL, target_BTL], dim=1)[:, None]
    empty_B1L1 = ~allowed_B1LL.any(dim=-1, keepdim=True)  # the rows of a source without real tokens
    if _known_now(real_BS) and not bool(empty_B1L1.any()):
        return Mask(allowed_B1LL)
    return Mask(allowed_B1LL | empty_B1L1, empty_B1L1)


def _known_now(x: Tensor) -> bool:
    # Reading a value stalls a GPU's queue and breaks a compiled graph: there the general mask is cheaper.
    return x.device.type == "cpu" and not torch.compiler.is_compiling()
