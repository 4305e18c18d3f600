"""Scores that `xformer evaluate --metric NAME` adds, each in an entry of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xformer.config import schema
from xformer.errors import UserError
from xformer.scoring import comet


@dataclass(frozen=True)
class Scored:
    """What was translated, on what kind of device, and the language that it was translated into."""

    sources: Sequence[str]
    hypotheses: Sequence[str]
    references: Sequence[str]
    language: str | None
    gpu: bool


@dataclass(frozen=True)
class FurtherMetric:
    """One metric; `check` raises UserError before anything is translated."""

    check: Callable[[str | None], None]  # is told the target's language
    measure: Callable[[Scored], dict[str, Any]]  # with a `score`, and `label` and `signature` to print


def _needs_language(language: str | None) -> None:
    if language is None:
        raise UserError(
            "--metric tokenised_bleu needs to know the target's language by two letters, such as that of "
            "data.target=de; the built-in language has none"
        )


def _tokenised(scored: Scored) -> dict[str, Any]:
    from xformer.scoring.table2 import tokenised_bleu

    return asdict(tokenised_bleu(scored.hypotheses, scored.references, scored.language or ""))


def _comet(scored: Scored) -> dict[str, Any]:
    score = comet.comet(scored.sources, scored.hypotheses, scored.references, gpu=scored.gpu)
    return {"score": score, "signature": comet.MODEL, "label": "a trained metric, not in per cent"}


METRICS = {
    "comet": FurtherMetric(lambda _: comet.check_available(), _comet),
    "tokenised_bleu": FurtherMetric(_needs_language, _tokenised),
}


def target_language(data: schema.Data) -> str | None:
    """By two letters, where the target's files are named so."""
    name = getattr(data, "target", "")
    return name if len(name) == 2 and name.isalpha() else None
