"""Which source token each output token was written from, as far as attention tells.

For each output token: the source token with the most cross-attention weight, averaged over the heads of the
last decoder layer, at the position that predicts the token. Ends of sentences take no part, on either
side. Attention is no proof of where a word comes from; it is what the model looked at.

Shapes: B batch, S source length, T target length, H heads.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from xformer.data.vocabulary import BOS
from xformer.decoding.translate import batches, evaluating, pad
from xformer.errors import UserError
from xformer.model.attention import CrossAttention
from xformer.model.recording import record_attention

Alignment = list[tuple[int, int]]
"""Pairs (source token, target token), both from 0, one for each target token."""


@torch.no_grad()
def align(
    model: nn.Module,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    tokens_per_batch: int,
) -> list[Alignment]:
    """Align each pair of token ids; sources with their EOS, targets without BOS and EOS.

    A source of nothing but its EOS aligns with nothing. Raises UserError for a model without
    cross-attention.
    """
    last = _last_cross_attention(model)
    alignments: list[Alignment] = [[] for _ in sources]
    pairs = [i for i, source in enumerate(sources) if len(source) > 1 and targets[i]]
    with evaluating(model) as device:
        for batch in batches([max(len(sources[i]), len(targets[i])) for i in pairs], tokens_per_batch):
            some = [pairs[n] for n in batch]
            source_BS, source_mask_BS = pad([sources[i] for i in some], device)
            target_in_BT, _ = pad([[BOS, *targets[i][:-1]] for i in some], device)
            with record_attention(last) as calls:
                model(source_BS, source_mask_BS, target_in_BT)
            (call,) = calls
            weights_BTS = call.weights_BHTS.mean(1)
            for i, weights_TS in zip(some, weights_BTS, strict=True):
                best_T = weights_TS[: len(targets[i]), : len(sources[i]) - 1].argmax(-1)
                alignments[i] = [(source, target) for target, source in enumerate(best_T.tolist())]
    return alignments


def pharaoh(alignment: Alignment) -> str:
    """`i-j i-j …`, source token i and target token j, as Pharaoh, Moses and fast_align write it."""
    return " ".join(f"{source}-{target}" for source, target in alignment)


def _last_cross_attention(model: nn.Module) -> CrossAttention:
    layers = [module for module in model.modules() if isinstance(module, CrossAttention)]
    if not layers:
        raise UserError("this model has no cross-attention, so its translations have no alignment")
    return layers[-1]
