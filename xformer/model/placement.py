"""How sub-layers join the residual stream, and where their norms stand.

A layer hands its placement the sub-layers as functions of one tensor; everything else
(norms, dropout, additions, their order) is the placement's own affair.

B batch, T length, D d_model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from torch import Tensor, nn

from xformer.config import schema
from xformer.model.dropout import Dropout

SubLayer = Callable[[Tensor], Tensor]


class Placement(nn.Module, ABC):
    """The residual part of one layer."""

    final_norm: ClassVar[bool]
    """Whether a stack of such layers needs one more norm at its end."""

    def __init__(self, sublayers: int, norm: Callable[[], nn.Module], dropout: float) -> None:
        super().__init__()
        self.norms = nn.ModuleList(norm() for _ in range(sublayers))
        self.dropout = Dropout(dropout)

    @abstractmethod
    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        """Pass the residual stream through the sub-layers, one after the other."""


class PostNorm(Placement):
    """x ← norm(x + f(x)), as the paper writes it (section 3.1)."""

    final_norm = False

    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x_BTD = norm(x_BTD + self.dropout(sublayer(x_BTD)))
        return x_BTD


class PreNorm(Placement):
    """x ← x + f(norm(x)): the residual stream itself is never normalised (Xiong et al. 2020)."""

    final_norm = True

    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x_BTD = x_BTD + self.dropout(sublayer(norm(x_BTD)))
        return x_BTD


PLACEMENTS: dict[str, type[Placement]] = {"post": PostNorm, "pre": PreNorm}


def build_placement(
    config: schema.Placement, sublayers: int, norm: Callable[[], nn.Module], dropout: float
) -> Placement:
    """Build the residual part of one layer that has so many sub-layers."""
    return PLACEMENTS[config.kind](sublayers, norm, dropout)
