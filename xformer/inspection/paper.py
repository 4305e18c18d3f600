"""What is known of the paper beyond its numbers: why a key may differ, what it leaves open (`paper.yaml`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from xformer.config.changes import covers


@dataclass(frozen=True)
class Reason:
    """Why a key differs from the paper. `section` is the paper's."""

    key: str
    section: str
    reason: str
    value: Any = None


@dataclass(frozen=True)
class Open:
    """What the paper does not say: a key, or something (`what`) that is as it is `here`."""

    section: str
    reason: str
    key: str | None = None
    what: str | None = None
    here: str | None = None


@dataclass(frozen=True)
class Always:
    """What differs from the paper in every configuration."""

    what: str
    here: str
    paper: str
    section: str
    reason: str


@dataclass(frozen=True)
class Knowledge:
    """The whole file."""

    compared: tuple[str, ...]
    not_compared: tuple[str, ...]
    reasons: tuple[Reason, ...]
    open: tuple[Open, ...]
    always: tuple[Always, ...]

    def compares(self, key: str) -> bool:
        """Whether a key says something about the paper's model, training or decoding."""
        return any(covers(each, key) for each in self.compared) and not any(
            covers(each, key) for each in self.not_compared
        )

    def reason(self, key: str, value: Any) -> Reason | None:
        """The first one that fits."""
        for each in self.reasons:
            if covers(each.key, key) and each.value in (None, value):
                return each
        return None


@cache
def knowledge() -> Knowledge:
    """Read `paper.yaml`."""
    path = resources.files("xformer.inspection").joinpath("paper.yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Knowledge(
        compared=tuple(content["compared"]),
        not_compared=tuple(content["not_compared"]),
        reasons=tuple(Reason(**each) for each in content["reasons"]),
        open=tuple(Open(**each) for each in content["open"]),
        always=tuple(Always(**each) for each in content["always"]),
    )
