"""Learning curves out of `metrics.csv`, whatever state the file is in."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

AT_MOST = 60  # points a curve: a page of a hundred runs stays small, and a small plot shows no more


@dataclass(frozen=True)
class Point:
    """One line of `metrics.csv`: the loss without smoothing in nats a target token, or None."""

    update: float
    tokens: float
    trained: float | None
    dev: float | None  # the logarithm of the perplexity on the dev split: the same unit; 0 is a value


def read_curve(folder: Path, at_most: int = AT_MOST) -> tuple[Point, ...]:
    """The curve of a run, thinned to `at_most` points and those with a dev score; empty without one.

    Lines that are cut short, or hold no number where one belongs, are passed over.
    """
    try:
        with (folder / "metrics.csv").open(encoding="utf-8", errors="replace", newline="") as file:
            points = [point for line in csv.DictReader(file) if (point := _point(line))]
    except (OSError, csv.Error):
        return ()
    step = math.ceil(len(points) / at_most) if points else 1
    last = len(points) - 1
    return tuple(
        point
        for number, point in enumerate(points)
        if number % step == 0 or point.dev is not None or number == last
    )


def _point(line: dict[str, str | None]) -> Point | None:
    update, tokens = _number(line.get("update")), _number(line.get("tokens"))
    if update is None or tokens is None:
        return None
    perplexity = _number(line.get("dev_perplexity"))
    dev = math.log(perplexity) if perplexity and perplexity > 0 else None
    trained = _number(line.get("nll"))
    return None if trained is None and dev is None else Point(update, tokens, trained, dev)


def _number(written: str | None) -> float | None:
    try:
        value = float(written or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
