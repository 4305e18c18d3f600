"""The learning rate of the paper, by formula and by updates (section 5.3, equation 3)."""

from __future__ import annotations


def learning_rate(update: int, *, d_model: int, warmup_updates: int, multiplier: float = 1.0) -> float:
    """The rate of one update, counted from 1: linear warm-up, then falling with the square root.

    A formula and no scheduler object: nothing to store, nothing that can lag behind after a resume.
    """
    rate: float = multiplier * d_model**-0.5 * min(update**-0.5, update * warmup_updates**-1.5)
    return rate
