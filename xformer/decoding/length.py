"""How long a hypothesis may become, and what its length does to its score.

A hypothesis' length counts its EOS, and so does a source's; the least and the greatest length that a user
asks for count the tokens of the text alone. Shapes: B sentences, S source length.
"""

from __future__ import annotations

import math
from typing import TypeVar

from torch import Tensor

from xformer.errors import UserError

Length = TypeVar("Length", float, Tensor)


def length_penalty(length: Length, alpha: float) -> Length:
    """((5 + |Y|) / 6)^alpha, what a log-probability is divided by (Wu et al. 2016, equation 14)."""
    penalty: Length = ((5 + length) / 6) ** alpha
    return penalty


def length_limits(
    source_mask_BS: Tensor,
    extra_length: int,
    cap: int | None,
    *,
    min_length: int = 0,
    max_length: int = 0,
) -> Tensor:
    """Longest target allowed for each sentence, EOS counted.

    Source length + extra_length (section 6.1), at most `max_length` tokens and the EOS (0: no such bound), at
    most `cap`; where `min_length` asks for more than the source's length allows, that much is allowed.
    A sentence's limit depends on nothing but itself, or its translation would depend on its neighbours.
    Raises UserError where the model has no positions (`cap`) for `min_length` tokens.
    """
    if cap is not None and cap < min_length + 1:
        raise UserError(
            f"a minimum length of {min_length} tokens is more than this model can write: it has positions "
            f"for {cap}, one of them for the end. Give {cap - 1} or less."
        )
    limit_B = (source_mask_BS.sum(dim=1) + extra_length).clamp(min=min_length + 1)
    if max_length:
        limit_B = limit_B.clamp(max=max_length + 1)
    return limit_B if cap is None else limit_B.clamp(max=cap)


def check_alpha(alpha: float) -> None:
    """Raise UserError for an exponent that is no number or would reward shortness."""
    if not (math.isfinite(alpha) and alpha >= 0):
        raise UserError(f"a length penalty of {alpha} has no meaning: give 0 (none) or more")


def check_lengths(extra_length: int, min_length: int, max_length: int) -> None:
    """Raise UserError for lengths that mean nothing or contradict one another."""
    if extra_length < 0:
        raise UserError(f"an extra length of {extra_length} has no meaning: give 0 or more")
    if min_length < 0:
        raise UserError(f"a minimum length of {min_length} has no meaning: give 0 (none) or more")
    if max_length < 0:
        raise UserError(f"a maximum length of {max_length} has no meaning: give 0 (none) or more")
    if 0 < max_length < min_length:
        raise UserError(
            f"a minimum length of {min_length} and a maximum of {max_length} leave nothing between them"
        )
