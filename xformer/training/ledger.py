"""The books of a run: what its updates came to, summed over intervals and in total."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Tally:
    """Sums over some updates, in float64 and in the order of the updates, so that a resume adds alike."""

    tokens: int = 0  # real source and target tokens
    target_tokens: int = 0
    loss: float = 0.0  # smoothed, nats
    nll: float = 0.0  # nats
    seconds: float = 0.0  # spent training: neither validation nor checkpoints

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds > 0 else 0.0

    @property
    def mean_loss(self) -> float:
        """Nats per target token."""
        return self.loss / self.target_tokens if self.target_tokens else 0.0

    @property
    def mean_nll(self) -> float:
        """Nats per target token."""
        return self.nll / self.target_tokens if self.target_tokens else 0.0


@dataclass
class Ledger:
    """The interval since the last row of metrics.csv, and everything since the run began."""

    total: Tally = field(default_factory=Tally)
    interval: Tally = field(default_factory=Tally)
    gradient_norm: float = 0.0  # of the last update

    def enter(
        self, *, source_tokens: int, target_tokens: int, loss: float, nll: float, gradient_norm: float
    ) -> None:
        """Add one update."""
        for tally in (self.total, self.interval):
            tally.tokens += source_tokens + target_tokens
            tally.target_tokens += target_tokens
            tally.loss += loss
            tally.nll += nll
        self.gradient_norm = gradient_norm

    def spend(self, seconds: float) -> None:
        """Add time spent training."""
        self.total.seconds += seconds
        self.interval.seconds += seconds

    def close_interval(self) -> None:
        """Begin the next interval."""
        self.interval = Tally()

    def state(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Ledger:
        """What `state` gave."""
        return cls(Tally(**state["total"]), Tally(**state["interval"]), state["gradient_norm"])
