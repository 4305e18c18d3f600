"""Scores of a trained model on a split, always of all its sentences and against the raw references."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xformer.data.prepare import EvaluationSet, Prepared
from xformer.decoding.likelihood import negative_log_likelihood, perplexity
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import Translation, translate
from xformer.files import write_atomic
from xformer.runs.trained import Trained
from xformer.scoring.corpus import Scores, score
from xformer.scoring.counts import write_counts

log = logging.getLogger("xformer")


@dataclass(frozen=True)
class Evaluation:
    """A split translated and scored."""

    perplexity: float  # per subword token, without smoothing
    perplexity_per_word: float  # the same likelihood per word; infinite where a reference was cut
    scores: Scores
    translations: list[Translation]
    seconds: float  # spent decoding
    target_cut: int = 0  # references that are longer than the model has positions for, and count in part

    def summary(self) -> dict[str, Any]:
        """What `result.json` and `evaluations/` say of it; None for a perplexity beyond all numbers."""
        return {
            "perplexity": _finite(self.perplexity),
            "perplexity_per_word": _finite(self.perplexity_per_word),
            "bleu": self.scores.bleu,
            "chrf": self.scores.chrf,
            "ter": self.scores.ter,
            "signature": self.scores.signature,
            "sentences": self.scores.sentences,
            "source_cut": sum(each.source_cut for each in self.translations),
            "target_cut": self.target_cut,
            "decoding_seconds": self.seconds,
        }

    @property
    def hypotheses(self) -> list[str]:
        """The translations, without what else is known of them."""
        return [each.text for each in self.translations]

    def text(self) -> str:
        """The hypotheses, one a line."""
        return "".join(f"{each.text}\n" for each in self.translations)


def score_split(
    trained: Trained, prepared: Prepared, split: str, progress: Callable[[int], object] | None = None
) -> Evaluation:
    """Score a split as the run's own configuration has it, and store the hypotheses in the run folder."""
    settings = SearchSettings.of(trained.config.decode)
    data = prepared.evaluation(split)
    evaluation = evaluate(trained, data, settings, progress)
    path = trained.folder.hypotheses(split)
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, evaluation.text())
    write_counts(path, evaluation.hypotheses, data.reference_lines)
    log.info("%s: BLEU %.2f, perplexity %.3f", split, evaluation.scores.bleu, evaluation.perplexity)
    return evaluation


def evaluate(
    trained: Trained,
    data: EvaluationSet,
    settings: SearchSettings,
    progress: Callable[[int], object] | None = None,
) -> Evaluation:
    """Translate and score a split; `progress` is told how many more sentences are done."""
    tokens_per_batch = trained.config.decode.tokens_per_batch
    nll, tokens = negative_log_likelihood(trained.model, data.store, tokens_per_batch)
    words = sum(len(line.split()) for line in data.reference_lines)
    longest = trained.model.max_target_length
    cut = 0 if longest is None else int((data.store.target_lengths > longest).sum())
    began = time.perf_counter()
    translations = translate(
        trained.model, trained.tokenizer, data.source_lines, settings, tokens_per_batch, progress
    )
    seconds = time.perf_counter() - began
    scores = score([each.text for each in translations], data.reference_lines)
    per_word = math.inf if cut else perplexity(nll, max(words, 1))
    return Evaluation(perplexity(nll, tokens), per_word, scores, translations, seconds, cut)


def _finite(perplexity: float) -> float | None:
    """JSON has no infinity; per word it is reached where a language has no spaces, so that a line is one."""
    return perplexity if math.isfinite(perplexity) else None
