"""The learning rate of the paper, by formula and by updates (section 5.3, equation 3)."""

from __future__ import annotations

from xformer.config import schema


def learning_rate(update: int, optim: schema.Optim, *, d_model: int, updates: int) -> float:
    """The rate of one update, counted from 1, of `updates` in all.

    Linear warm-up, then falling with the square root. Warm-up `none`: at its peak from the first update on,
    falling at the same point as with warm-up. With a cool-down the last updates' rates fall in a straight
    line besides, to nearly zero; the paper has none.
    A formula and no scheduler object: nothing to store, nothing that can lag behind after a resume.
    """
    warmup = optim.warmup_updates
    rising = update * warmup**-1.5 if optim.warmup == "linear" else warmup**-0.5
    left = (updates - update + 1) / (optim.cooldown_updates + 1)
    rate: float = optim.learning_rate_multiplier * d_model**-0.5 * min(update**-0.5, rising) * min(1.0, left)
    return rate
