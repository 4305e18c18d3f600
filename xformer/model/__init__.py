"""The Transformer, from token ids and masks to logits; it knows nothing of data, trainers or files.

Torch is imported only when a model is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xformer.config import schema
    from xformer.model.seq2seq import Seq2Seq

__all__ = ["build"]


def build(config: schema.Model, vocabulary: int) -> Seq2Seq:
    """Build a freshly initialised model; its weights depend on torch's global seed and nothing else."""
    from xformer.model.architectures import build_model

    return build_model(config, vocabulary)
