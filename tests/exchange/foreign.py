"""What the tests of this room share: models with nothing at its first value, and their logits."""

from __future__ import annotations

import torch
from torch import Tensor

from xformer.config import schema
from xformer.model import build
from xformer.model.seq2seq import Seq2Seq


def restless(config: schema.Model, vocabulary: int) -> Seq2Seq:
    """A model none of whose biases and gains stands at its first value."""
    torch.manual_seed(0)
    model = build(config, vocabulary)
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    return model.eval()


@torch.no_grad()
def logits_of(model: Seq2Seq, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    """(B, T, W)."""
    return model.logits(model(source, mask, target))
