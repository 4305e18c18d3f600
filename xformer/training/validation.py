"""A look at the dev set: perplexity by teacher forcing, BLEU by the one decoder there is.

Both ask what the stored weights can do: single precision, no dropout, no smoothing, whatever the
precision of training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from xformer.config import schema
from xformer.data.prepare import EvaluationSet, Prepared
from xformer.decoding.likelihood import negative_log_likelihood, perplexity
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import translate
from xformer.errors import Stopped
from xformer.model.seq2seq import Seq2Seq
from xformer.scoring.corpus import score
from xformer.training.ranks import Ranks


@dataclass(frozen=True)
class DevScores:
    """Perplexity per target token of the whole dev set; BLEU of the sentences that were translated."""

    perplexity: float
    bleu: float


class Validation:
    """Looks at the dev set again and again, its work dealt out over the ranks, none of it twice."""

    def __init__(self, config: schema.Config, prepared: Prepared, ranks: Ranks) -> None:
        self._tokenizer = prepared.tokenizer
        self._ranks = ranks
        self._evaluation: EvaluationSet = prepared.evaluation("valid")
        decode = config.decode
        self._settings = SearchSettings.of(decode)
        self._tokens_per_batch = decode.tokens_per_batch
        self._sentences = config.trainer.validation_sentences or len(self._evaluation)

    def look(self, model: Seq2Seq, between: Callable[[], None]) -> DevScores | None:
        """Score the model; None when `between`, called between batches, raised Stopped on any rank."""
        lines = self._evaluation.source_lines[: self._sentences]
        references = self._evaluation.reference_lines[: self._sentences]
        try:
            nll, tokens = negative_log_likelihood(
                model, self._evaluation.store, self._tokens_per_batch, self._ranks.share, between
            )
            translations = translate(
                model, self._tokenizer, self._ranks.share(lines), self._settings, self._tokens_per_batch,
                progress=lambda _: between(),
            )  # fmt: skip
            stopped = 0
        except Stopped:
            nll, tokens, translations, stopped = 0.0, 0, [], 1
        nll, all_tokens, stops = self._ranks.sum(
            torch.tensor([nll, tokens, stopped], dtype=torch.float64)
        ).tolist()
        if stops:
            return None
        hypotheses = self._ranks.gather([translation.text for translation in translations])
        return DevScores(perplexity(nll, int(all_tokens)), score(hypotheses, references).bleu)
