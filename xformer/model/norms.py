"""Normalisation over the features of one token.

B batch, T length, D d_model.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xformer.config import schema


class RMSNorm(nn.Module):
    """Divide by the root mean square, then apply a gain (Zhang & Sennrich 2019, eq. 4).

    The statistics are taken in float32 at least: a sum of squares loses too much in bfloat16.
    """

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x_BTD: Tensor) -> Tensor:
        wide_BTD = x_BTD.to(torch.promote_types(x_BTD.dtype, torch.float32))
        rms_BT1 = (wide_BTD.square().mean(dim=-1, keepdim=True) + self.epsilon).sqrt()
        return (wide_BTD / rms_BT1).to(x_BTD.dtype) * self.weight


def build_norm(config: schema.Norm, size: int) -> nn.Module:
    """Build one norm over the last dimension."""
    match config:
        case schema.LayerNorm():
            return nn.LayerNorm(size, config.epsilon, bias=config.bias)
        case schema.RMSNorm():
            return RMSNorm(size, config.epsilon)
