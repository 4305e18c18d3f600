"""When a run is given up: divergence is an outcome, not a crash (docs/design.md, decision 7)."""

from __future__ import annotations

import math

PATIENCE = 100  # updates


class DivergenceWatch:
    """Looks at each update's loss in turn and says when the run has diverged, and why.

    A model that knows nothing has loss ln(vocabulary). One that stays a whole nat above it for
    `PATIENCE` updates after the warm-up is worse than ignorant and does not come back.
    """

    def __init__(self, *, vocabulary: int, warmup_updates: int) -> None:
        self.limit = math.log(vocabulary) + 1
        self.warmup_updates = warmup_updates
        self.streak = 0  # updates on end with a loss above the limit

    def look(self, update: int, loss: float, gradient_norm: float) -> str | None:
        """The reason to stop at this update, if there is one."""
        at = f"at update {update} (gradient norm {gradient_norm:.3g})"
        if not math.isfinite(loss):
            return f"the loss was not finite {at}"
        if not math.isfinite(gradient_norm):
            return f"the gradient was not finite {at}"
        self.streak = self.streak + 1 if loss > self.limit and update > self.warmup_updates else 0
        if self.streak >= PATIENCE:
            above = f"above ln(vocabulary) + 1 = {self.limit:.2f} for {PATIENCE} updates"
            return f"the loss was {above}, and {loss:.2f} {at}"
        return None
