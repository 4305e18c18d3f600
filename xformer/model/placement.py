"""How sub-layers join the residual stream, and where their norms stand.

A layer hands its placement the sub-layers as functions of one tensor; everything else
(norms, dropout, additions, their order) is the placement's own affair. Dropout always falls on
what is added, right before the addition (section 5.4).

B batch, T length, D d_model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from torch import Tensor, nn

from xformer.config import schema
from xformer.config.sizes.layout import Stack
from xformer.model.deepnorm import constants
from xformer.model.dropout import Dropout

SubLayer = Callable[[Tensor], Tensor]
MakeNorm = Callable[[], nn.Module]


class Placement(nn.Module, ABC):
    """The residual part of one layer."""

    final_norm: ClassVar[bool]
    """Whether a stack of such layers needs one more norm at its end."""

    def __init__(self, stack: Stack, norm: MakeNorm, dropout: float) -> None:
        super().__init__()
        self.norms = nn.ModuleList(norm() for _ in range(self.norm_count(len(stack.sublayers))))
        self.dropout = Dropout(dropout)

    @staticmethod
    def norm_count(sublayers: int) -> int:
        """Return how many norms a layer of so many sub-layers has."""
        return sublayers

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


class DeepNorm(Placement):
    """x ← norm(α x + f(x)), α > 1 growing with the depth (Wang et al. 2022, eq. 1)."""

    final_norm = False

    def __init__(self, stack: Stack, norm: MakeNorm, dropout: float) -> None:
        super().__init__(stack, norm, dropout)
        self.alpha = constants(stack).alpha

    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x_BTD = norm(self.alpha * x_BTD + self.dropout(sublayer(x_BTD)))
        return x_BTD


class PreNorm(Placement):
    """x ← x + f(norm(x)): the residual stream itself is never normalised (Xiong et al. 2020)."""

    final_norm = True

    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x_BTD = x_BTD + self.dropout(sublayer(norm(x_BTD)))
        return x_BTD


class Sandwich(Placement):
    """x ← x + norm(f(norm(x))): norms on both sides of the sub-layer (Ding et al. 2021)."""

    final_norm = True

    @staticmethod
    def norm_count(sublayers: int) -> int:
        return 2 * sublayers

    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        for before, after, sublayer in zip(self.norms[::2], self.norms[1::2], sublayers, strict=True):
            x_BTD = x_BTD + self.dropout(after(sublayer(before(x_BTD))))
        return x_BTD


class PostSubLayer(Placement):
    """x ← x + norm(f(x)): what is added is normalised, the residual stream is not (Liu et al. 2022)."""

    final_norm = True

    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x_BTD = x_BTD + self.dropout(norm(sublayer(x_BTD)))
        return x_BTD


class Parallel(Placement):
    """x ← x + f₁(y) + f₂(y) …, y = norm(x): every sub-layer reads the same (Wang & Komatsuzaki 2021)."""

    final_norm = True

    @staticmethod
    def norm_count(sublayers: int) -> int:
        return 1

    def forward(self, x_BTD: Tensor, *sublayers: SubLayer) -> Tensor:
        y_BTD = self.norms[0](x_BTD)
        for sublayer in sublayers:
            x_BTD = x_BTD + self.dropout(sublayer(y_BTD))
        return x_BTD


PLACEMENTS: dict[str, type[Placement]] = {
    "post": PostNorm,
    "deepnorm": DeepNorm,
    "pre": PreNorm,
    "sandwich": Sandwich,
    "postsublayer": PostSubLayer,
    "parallel": Parallel,
}


def build_placement(config: schema.Placement, stack: Stack, norm: MakeNorm, dropout: float) -> Placement:
    """Build the residual part of one layer of a stack."""
    return PLACEMENTS[config.kind](stack, norm, dropout)
