"""The paper's architecture (section 3): an encoder over the source, a decoder over the target.

B batch, S source length, T target length, D d_model, W vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xformer.config import schema
from xformer.model.cache import DecoderState
from xformer.model.masks import padding_mask
from xformer.model.seq2seq import Seq2Seq
from xformer.model.stacks import Decoder, Encoder


class EncoderDecoder(Seq2Seq):
    """Two stacks; the second attends to the first one's output."""

    def __init__(self, config: schema.Model, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    @property
    def max_source_length(self) -> int | None:
        return self.encoder.position.max_length

    @property
    def max_target_length(self) -> int | None:
        return self.decoder.position.max_length

    def forward(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor) -> Tensor:
        mask = padding_mask(source_mask_BS)
        memory_BSD = self.encoder.encode(self.embedding.source(source_BS), mask)
        hidden_BTD: Tensor = self.decoder(self.embedding.target(target_in_BT), memory_BSD, mask)
        return hidden_BTD

    def encode(self, source_BS: Tensor, source_mask_BS: Tensor) -> Tensor:
        return self.encoder.encode(self.embedding.source(source_BS), padding_mask(source_mask_BS))

    @torch.no_grad()
    def start(self, source_BS: Tensor, source_mask_BS: Tensor, max_length: int) -> DecoderState:
        mask = padding_mask(source_mask_BS)
        memory_BSD = self.encoder.encode(self.embedding.source(source_BS), mask)
        return self.decoder.start(memory_BSD, mask, max_length)

    @torch.no_grad()
    def advance(self, token_B: Tensor, state: DecoderState) -> Tensor:
        return self.decoder.step(self.embedding.target(token_B[:, None]), state)[:, 0]
