"""Two experiments side by side: every key in which they differ, and what that costs. Without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xformer.config import schema
from xformer.config.compose import compose
from xformer.config.differences import Difference, differences
from xformer.config.keys import key_of
from xformer.config.sizes.accounting import parameters
from xformer.config.sizes.flops import flops
from xformer.errors import UserError


@dataclass(frozen=True)
class Comparison:
    """Names, differing keys, and by quantity the value on either side, by closed formula."""

    left: str
    right: str
    scale: str
    differences: list[Difference]
    quantities: dict[str, tuple[int, int]]

    def plain(self) -> dict[str, Any]:
        """Everything in types that JSON has. A ratio is right over left."""
        return {
            "left": self.left,
            "right": self.right,
            "scale": self.scale,
            "differences": [asdict(each) for each in self.differences],
        } | {
            name: {"left": left, "right": right, "ratio": right / left}
            for name, (left, right) in self.quantities.items()
        }


def compare(left: str, right: str, overrides: Sequence[str], *, config_dir: Path | None = None) -> Comparison:
    """Compose two experiments with the same overrides. Raises UserError where one cannot be composed."""
    if chosen := [word for word in overrides if key_of(word) == "experiments"]:
        raise UserError(f"{chosen[0]}: --diff names the experiments itself; leave this out")
    one, other = (
        compose([f"experiments={name}", *overrides], config_dir=config_dir) for name in (left, right)
    )
    costs = [_quantities(config) for config in (one, other)]
    return Comparison(
        left, right, one.scale.name, differences(one, other),
        {name: (costs[0][name], costs[1][name]) for name in costs[0]},
    )  # fmt: skip


def _quantities(config: schema.Config) -> dict[str, int]:
    vocabulary = config.tokenizer.vocabulary
    cost = flops(config.model, vocabulary)
    return {
        "parameters_closed_form": sum(parameters(config.model, vocabulary).values()),
        "flops_per_source_token": cost.source_token,
        "flops_per_target_token": cost.target_token,
        "flops_per_training_token": cost.training(1, 1) // 2,
    }
