"""How probable given translations are: each pair in one pass, nothing searched.

Shapes: B batch, S source length, T target length, N real target positions, D d_model, W vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from xformer.data.store import ParallelStore
from xformer.data.vocabulary import BOS, EOS
from xformer.decoding.extensions import log_sum_exp
from xformer.decoding.translate import batches, cut, evaluating, pad

# Logits in memory at a time (16 MB).
_LOGITS = 2**22


class Readable(Protocol):
    """A model that reads a whole target at once."""

    @property
    def max_source_length(self) -> int | None:
        """The most tokens it has positions for, EOS counted."""

    @property
    def max_target_length(self) -> int | None:
        """The most tokens it can predict, EOS counted."""

    def __call__(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor, /) -> Tensor:
        """States B × T × D; state t has seen target tokens 0 … t."""

    def logits(self, hidden_BTD: Tensor, /) -> Tensor:
        """Scores of every token of the vocabulary, … × W."""


def log_probabilities(
    model: Readable, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], tokens_per_batch: int
) -> list[float]:
    """log P(target | source) of each pair, natural, EOS included; the same in any company.

    Sources as the model reads them, EOS included; targets without BOS and EOS. Of a target beyond the
    model's positions what it can predict is counted.
    """
    pairs = _Pairs(sources, [_predicted(ids, model.max_target_length) for ids in targets])
    result = [0.0] * len(sources)
    with evaluating(model) as device:
        for batch in pairs.batches(tokens_per_batch):
            for i, log_p in zip(batch, pairs.log_p(model, batch, device), strict=True):
                result[i] = log_p
    return result


def negative_log_likelihood(
    model: Readable,
    corpus: ParallelStore,
    tokens_per_batch: int,
    share: Callable[[Sequence[list[int]]], Sequence[list[int]]] = lambda batches: batches,
    between: Callable[[], None] = lambda: None,
) -> tuple[float, int]:
    """(−Σ log P in nats, Σ target tokens, EOS included) of all pairs, or of one `share` of the batches.

    Sources beyond the model's positions are cut, as in translation; targets as in `log_probabilities`.
    `between` is called before each batch.
    """
    pairs = _Pairs(
        [cut(corpus.source(i).tolist(), model.max_source_length) for i in range(len(corpus))],
        [_predicted(corpus.target(i).tolist(), model.max_target_length) for i in range(len(corpus))],
    )
    parts, tokens = [], 0
    with evaluating(model) as device:
        for batch in share(pairs.batches(tokens_per_batch)):
            between()
            parts += pairs.log_p(model, batch, device)
            tokens += sum(len(pairs.targets[i]) for i in batch)
    return -math.fsum(parts), tokens


def perplexity(nll: float, tokens: int) -> float:
    """exp of the mean NLL per token; infinite where that is too large for a number."""
    try:
        return math.exp(nll / tokens)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class _Pairs:
    """Sources as the model reads them, and what it is to predict of each target, EOS included."""

    sources: Sequence[Sequence[int]]
    targets: Sequence[Sequence[int]]

    def batches(self, tokens_per_batch: int) -> list[list[int]]:
        """Indices of pairs to be read side by side."""
        lengths = [max(map(len, pair)) for pair in zip(self.sources, self.targets, strict=True)]
        return list(batches(lengths, tokens_per_batch))

    @torch.no_grad()
    def log_p(self, model: Readable, batch: list[int], device: torch.device) -> list[float]:
        """log P of each pair of the batch."""
        source_BS, source_mask_BS = pad([self.sources[i] for i in batch], device)
        target_in_BT, real_BT = pad([[BOS, *self.targets[i][:-1]] for i in batch], device)
        target_out_BT, _ = pad([self.targets[i] for i in batch], device)
        hidden_ND = model(source_BS, source_mask_BS, target_in_BT)[real_BT]
        log_p_N = _log_p(model, hidden_ND, target_out_BT[real_BT])
        row_N = real_BT.nonzero()[:, 0]
        sum_B = torch.zeros(len(batch), dtype=torch.float64, device=device).index_add_(0, row_N, log_p_N)
        sums: list[float] = sum_B.tolist()
        return sums


def _predicted(target: Sequence[int], longest: int | None) -> list[int]:
    """What the model predicts of a target: its ids and EOS, as far as it has positions."""
    return [*target, EOS][:longest]


def _log_p(model: Readable, hidden_ND: Tensor, target_N: Tensor) -> Tensor:
    """Of each target token, double; the logits are made and used some rows at a time."""
    vocabulary = model.logits(hidden_ND[:1]).size(-1)
    rows = max(1, _LOGITS // vocabulary)
    parts = []
    for hidden_CD, target_C in zip(torch.split(hidden_ND, rows), torch.split(target_N, rows), strict=True):
        logits_CW = model.logits(hidden_CD)
        logits_CW = logits_CW.to(torch.promote_types(logits_CW.dtype, torch.float32))
        parts.append(logits_CW.gather(1, target_C.unsqueeze(1)).squeeze(1) - log_sum_exp(logits_CW))
    return torch.cat(parts).double()
