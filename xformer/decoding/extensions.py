"""The best one-token extensions of a sentence's hypotheses, without sorting the whole vocabulary.

Shapes: A sentences, K hypotheses a sentence, R = A·K rows, W vocabulary, C chunks, N extensions wanted,
P shortlist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

# Logits that one pass of a processor's cache holds (2 MB).
CACHED = 2**19
# Long enough that there are few chunks to rank, short enough that few tokens are left to rank.
CHUNK = 64


class Extensions(NamedTuple):
    """N extensions of each sentence's hypotheses, best first."""

    log_probability_AN: Tensor
    origin_AN: Tensor  # which of the K hypotheses is extended
    token_AN: Tensor

    @staticmethod
    def joined(parts: Sequence[Extensions]) -> Extensions:
        """Those of further and further sentences."""
        if len(parts) == 1:
            return parts[0]
        return Extensions(*(torch.cat(columns) for columns in zip(*parts, strict=True)))

    def origin_row_AN(self, hypotheses: int) -> Tensor:
        """The row of the model that is extended, where each sentence has so many."""
        first_A = torch.arange(0, len(self.origin_AN) * hypotheses, hypotheses, device=self.origin_AN.device)
        return first_A.unsqueeze(1) + self.origin_AN


def log_sum_exp(logits_RW: Tensor) -> Tensor:
    """log Σ exp of each row; on a CPU a few rows at a time, which halves the time on large batches."""
    if logits_RW.device.type != "cpu":
        return logits_RW.logsumexp(-1)
    blocks = torch.split(logits_RW, max(1, CACHED // logits_RW.size(1)))
    return torch.cat([block_RW.logsumexp(-1) for block_RW in blocks])


def best_extensions(log_p_AKW: Tensor, prefix_AK: Tensor, count: int) -> Extensions:
    """The `count` greatest of log-probability + prefix's over a sentence's hypotheses and the vocabulary.

    Fewer come back where K × W is smaller.
    """
    A, K, W = log_p_AKW.shape
    position_AP = _shortlist(log_p_AKW, prefix_AK, count)
    value_AP = log_p_AKW.reshape(A, K * W).gather(1, position_AP)
    value_AP = value_AP + prefix_AK.gather(1, position_AP // W)
    value_AN, index_AN = value_AP.topk(min(count, value_AP.size(1)), dim=1)
    position_AN = position_AP.gather(1, index_AN)
    return Extensions(value_AN, position_AN // W, position_AN % W)


def _shortlist(log_p_AKW: Tensor, prefix_AK: Tensor, count: int) -> Tensor:
    """Positions in K × W among which the `count` greatest are.

    They lie in the `count` chunks with the greatest maxima. Maxima are one fast pass; a top-k over
    everything costs as much as the output projection itself on a CPU.
    """
    A, K, W = log_p_AKW.shape
    chunks = W // CHUNK
    whole = chunks * CHUNK
    device = log_p_AKW.device
    beam_K1 = torch.arange(K, device=device).unsqueeze(1) * W
    rest_KX = beam_K1 + torch.arange(whole, W, device=device)  # tokens beyond the last whole chunk
    rest_AP = rest_KX.reshape(1, -1).expand(A, -1)
    if chunks == 0:
        return rest_AP
    peak_AKC = log_p_AKW[..., :whole].reshape(A, K, chunks, CHUNK).amax(-1) + prefix_AK.unsqueeze(-1)
    best_AN = peak_AKC.flatten(1).topk(min(count, K * chunks), dim=1, sorted=False).indices
    first_AN = best_AN // chunks * W + best_AN % chunks * CHUNK
    inside_ANX = first_AN.unsqueeze(-1) + torch.arange(CHUNK, device=device)
    return torch.cat((inside_ANX.flatten(1), rest_AP), dim=1)
