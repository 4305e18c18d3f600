"""From a configuration to a model.

`skeleton` has the shapes, `build_model` the initial weights too.
"""

from __future__ import annotations

import torch

from xformer.config import schema
from xformer.model.decoder_only import DecoderOnly
from xformer.model.encoder_decoder import EncoderDecoder
from xformer.model.initialise import initialise
from xformer.model.seq2seq import Seq2Seq

ARCHITECTURES: dict[str, type[Seq2Seq]] = {"encoder_decoder": EncoderDecoder, "decoder_only": DecoderOnly}


def skeleton(config: schema.Model, vocabulary: int) -> Seq2Seq:
    """Build a model without numbers, on torch's `meta` device: shapes at no cost."""
    with torch.device("meta"):
        return ARCHITECTURES[config.architecture](config, vocabulary)


def build_model(config: schema.Model, vocabulary: int) -> Seq2Seq:
    """Build a model on the CPU with its initial weights."""
    # The modules' own initialisation would only draw random numbers for nothing.
    model = skeleton(config, vocabulary).to_empty(device="cpu")
    initialise(model)
    return model
