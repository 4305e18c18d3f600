"""A look at the dev set: perplexity by teacher forcing, BLEU by the one decoder there is.

Both ask what the stored weights can do: single precision, no dropout, no smoothing, whatever the
precision of training.

Shapes: B batch, T target length, N real target positions, D d_model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from xformer.config import schema
from xformer.data.batch import Batch, evaluation_batches
from xformer.data.prepare import EvaluationSet, Prepared
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import evaluating, translate
from xformer.errors import Stopped
from xformer.model.seq2seq import Seq2Seq
from xformer.scoring.corpus import score
from xformer.training.objective import loss_sums, output_weight, real_positions
from xformer.training.ranks import Ranks


@dataclass(frozen=True)
class DevScores:
    """Perplexity per target token of the whole dev set; BLEU of the sentences that were translated."""

    perplexity: float
    bleu: float


@torch.no_grad()
def negative_log_likelihood(
    model: Seq2Seq, batches: list[Batch], between: Callable[[], None] = lambda: None
) -> tuple[float, int]:
    """(Σ NLL in nats, Σ target tokens, EOS included) of reference targets under the model.

    `between` is called before each batch. Where a model has positions for part of a sentence only, what
    it can read is read and what it can predict is counted.
    """
    tokens = 0
    with evaluating(model) as device:
        total = torch.zeros((), dtype=torch.float64, device=device)
        for batch in batches:
            between()
            source, target = slice(model.max_source_length), slice(model.max_target_length)
            target_out_BT = batch.target_out_BT[:, target]
            real_N = real_positions(target_out_BT)
            hidden_BTD = model(
                batch.source_BS[:, source].to(device),
                batch.source_mask_BS[:, source].to(device),
                batch.target_in_BT[:, target].to(device),
            )
            hidden_ND = hidden_BTD.flatten(0, 1)[real_N.to(device)]
            target_N = target_out_BT.flatten()[real_N].to(device)
            _, nll = loss_sums(hidden_ND, output_weight(model), target_N, smoothing=0.0)
            total += nll
            tokens += len(real_N)
    return float(total), tokens


def perplexity(nll: float, tokens: int) -> float:
    """exp of the mean NLL per token; infinite where that is too large for a number."""
    try:
        return math.exp(nll / tokens)
    except OverflowError:
        return math.inf


class Validation:
    """Looks at the dev set again and again, sentences dealt out over the ranks, none twice."""

    def __init__(self, config: schema.Config, prepared: Prepared, ranks: Ranks) -> None:
        self._tokenizer = prepared.tokenizer
        self._ranks = ranks
        self._evaluation: EvaluationSet = prepared.evaluation("valid")
        batches = [batch for _, batch in evaluation_batches(self._evaluation, config.batch.tokens_per_device)]
        self._batches = list(ranks.share(batches))
        decode = config.decode
        self._settings = SearchSettings.of(decode)
        self._tokens_per_batch = decode.tokens_per_batch
        self._sentences = config.trainer.validation_sentences or len(self._evaluation)

    def look(self, model: Seq2Seq, between: Callable[[], None]) -> DevScores | None:
        """Score the model; None when `between`, called between batches, raised Stopped on any rank."""
        lines = self._evaluation.source_lines[: self._sentences]
        references = self._evaluation.reference_lines[: self._sentences]
        try:
            nll, tokens = negative_log_likelihood(model, self._batches, between)
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
