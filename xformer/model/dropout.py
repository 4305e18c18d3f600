"""Dropout whose random numbers do not take longer than the layer they follow."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zero each element with probability `p` while training, and scale the others by 1 / (1 - p).

    Draws from torch's global generator. On a CPU, four elements share one 64-bit draw; `p` is
    then rounded to a multiple of 2^-16, and the scale with it, so that the expectation stays exact.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p > 0 else x

    def extra_repr(self) -> str:
        return f"p={self.p}"


def dropout(x: Tensor, p: float) -> Tensor:
    """Drop elements of `x`, whatever the mode."""
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return nn.functional.dropout(x, p)  # one fused kernel there
    dropped = min(round(p * _LEVELS), _LEVELS - 1)  # of the levels one is kept, or there is nothing to scale
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    uniform = draws.view(torch.int16)[: x.numel()].view(x.shape)  # every 16-bit value equally likely
    keep = uniform >= dropped - _LEVELS // 2
    return x * keep.to(x.dtype).mul_(_LEVELS / (_LEVELS - dropped))
