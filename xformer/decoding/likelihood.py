"""How probable given translations are: each pair in one pass, nothing searched.

Shapes: B batch, S source length, T target length, N real target positions, D d_model, W vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from xformer.data.vocabulary import BOS, EOS
from xformer.decoding.extensions import log_sum_exp
from xformer.decoding.translate import batches, evaluating, pad

# Logits in memory at a time (16 MB).
_LOGITS = 2**22


class Readable(Protocol):
    """A model that reads a whole target at once."""

    def __call__(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor, /) -> Tensor:
        """States B × T × D; state t has seen target tokens 0 … t."""

    def logits(self, hidden_BTD: Tensor, /) -> Tensor:
        """Scores of every token of the vocabulary, … × W."""


@torch.no_grad()
def log_probabilities(
    model: Readable, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], tokens_per_batch: int
) -> list[float]:
    """log P(target | source) of each pair, natural, EOS included; the same in any company.

    Sources as the model reads them, EOS included; targets without BOS and EOS.
    """
    result = [0.0] * len(sources)
    lengths = [max(len(source), len(target) + 1) for source, target in zip(sources, targets, strict=True)]
    with evaluating(model) as device:
        for batch in batches(lengths, tokens_per_batch):
            source_BS, source_mask_BS = pad([sources[i] for i in batch], device)
            target_in_BT, real_BT = pad([[BOS, *targets[i]] for i in batch], device)
            target_out_BT, _ = pad([[*targets[i], EOS] for i in batch], device)
            hidden_ND = model(source_BS, source_mask_BS, target_in_BT)[real_BT]
            log_p_N = _log_p(model, hidden_ND, target_out_BT[real_BT])
            row_N = real_BT.nonzero()[:, 0]
            sum_B = torch.zeros(len(batch), dtype=torch.float64, device=device).index_add_(0, row_N, log_p_N)
            for i, total in zip(batch, sum_B.tolist(), strict=True):
                result[i] = total
    return result


def _log_p(model: Readable, hidden_ND: Tensor, target_N: Tensor) -> Tensor:
    """Of each target token, double; the logits are made and used some rows at a time."""
    vocabulary = model.logits(hidden_ND[:1]).size(-1)
    rows = max(1, _LOGITS // vocabulary)
    parts = []
    for hidden_CD, target_C in zip(torch.split(hidden_ND, rows), torch.split(target_N, rows), strict=True):
        logits_CW = model.logits(hidden_CD).float()
        parts.append(logits_CW.gather(1, target_C.unsqueeze(1)).squeeze(1) - log_sum_exp(logits_CW))
    return torch.cat(parts).double()
