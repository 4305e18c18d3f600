"""The learning rate of the paper, by formula and by updates (section 5.3, equation 3)."""

from __future__ import annotations


def learning_rate(
    update: int, *, d_model: int, warmup_updates: int, multiplier: float = 1.0, warmup: str = "linear"
) -> float:
    """The rate of one update, counted from 1: linear warm-up, then falling with the square root.

    warmup `none`: at its peak from the first update on, falling at the same point as with warm-up.
    A formula and no scheduler object: nothing to store, nothing that can lag behind after a resume.
    """
    rising = update * warmup_updates**-1.5 if warmup == "linear" else warmup_updates**-0.5
    rate: float = multiplier * d_model**-0.5 * min(update**-0.5, rising)
    return rate
