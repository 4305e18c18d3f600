"""What a dashboard shows, in the order of the report's page; nothing here knows of any tracker's library.

Keys are those under which runs are tracked: columns of metrics.csv and `flops`, final scores and costs as
`test/bleu`, and the configuration with `parameters` and `flops_per_token` (runs/tracking.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from xformer.study.web.plots import COSTS, FLOPS, MEMORY, PARAMETERS, QUANTITIES, SCORES, SPEED, Quantity

TRANSLATIONS = "translations"
UPDATES = "trainer/global_step"  # Lightning's name for it; Weights & Biases' own step counts calls


@dataclass(frozen=True)
class Bars:
    """The final score of each experiment, a mean over its seeds."""

    title: str
    key: str


@dataclass(frozen=True)
class Points:
    """A dot for each run; both axes are final figures, or keys of the configuration where `configured`."""

    title: str
    x: str
    y: str
    configured: bool


@dataclass(frozen=True)
class Curves:
    """A line for each experiment while it trained, a mean over its seeds."""

    title: str
    x: str
    y: str


@dataclass(frozen=True)
class Texts:
    """A table that runs keep."""

    key: str


@dataclass(frozen=True)
class Section:
    """Panels under a heading."""

    title: str
    panels: tuple[Bars | Points | Curves | Texts, ...]


def sections() -> tuple[Section, ...]:
    """The same panels as the report's page, as far as tracked runs hold the figures."""
    scores = {metric.title: f"{metric.split}/{metric.score}" for metric in SCORES}
    finals = {"test BLEU": "test/bleu", "dev BLEU": "dev/bleu", "dev PPL": "dev/perplexity"}
    axes = (("updates", UPDATES), ("training tokens", "tokens"), ("training FLOPs", "flops"))
    curves = (("training loss, nats a token", "nll"), ("dev PPL", "dev_perplexity"), ("dev BLEU", "dev_bleu"))
    return (
        Section("Scores", tuple(Bars(title, key) for title, key in finals.items())),
        Section(
            "Scores against sizes",
            tuple(_points(x, title, key) for x in QUANTITIES for title, key in scores.items()),
        ),
        Section(
            "Training speed and memory",
            (
                _points(FLOPS, SPEED.title, SPEED.tracked),
                _points(PARAMETERS, MEMORY.title, MEMORY.tracked),
                *(_points(x, title, key) for x in COSTS for title, key in scores.items()),
            ),
        ),
        Section(
            "Learning curves",
            tuple(Curves(f"{title} by {name}", x, y) for name, x in axes for title, y in curves),
        ),
        Section("Translations", (Texts(TRANSLATIONS),)),
    )


def _points(x: Quantity, title: str, key: str) -> Points:
    return Points(f"{title} against {x.title}", x.tracked, key, configured=x not in COSTS)
