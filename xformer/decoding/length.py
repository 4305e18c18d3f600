"""How long a hypothesis may become, and what its length does to its score.

Lengths count the EOS, on both sides. Shapes: B sentences, S source length.
"""

from __future__ import annotations

from typing import TypeVar

from torch import Tensor

Length = TypeVar("Length", float, Tensor)


def length_penalty(length: Length, alpha: float) -> Length:
    """((5 + |Y|) / 6)^alpha, what a log-probability is divided by (Wu et al. 2016, equation 14)."""
    penalty: Length = ((5 + length) / 6) ** alpha
    return penalty


def length_limits(source_mask_BS: Tensor, extra_length: int, cap: int | None) -> Tensor:
    """Longest target allowed for each sentence: source length + extra_length (section 6.1), at most `cap`.

    A sentence's limit depends on nothing but itself, or its translation would depend on its neighbours.
    """
    limit_B = (source_mask_BS.sum(dim=1) + extra_length).clamp(min=1)
    return limit_B if cap is None else limit_B.clamp(max=cap)
