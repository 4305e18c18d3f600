"""The Transformer (section 3): token ids of two sentences in, a distribution over the next token out.

B batch, S source length, T target length, D d_model, W vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xformer.config import schema
from xformer.model.cache import DecoderState
from xformer.model.embedding import Embedding
from xformer.model.initialise import initialise
from xformer.model.masks import padding_mask
from xformer.model.stacks import Decoder, Encoder


class Seq2Seq(nn.Module):
    """An encoder–decoder Transformer.

    Source padding is told by `source_mask_BS`, True = real token. Target padding stands at the right
    only, where the causal mask already hides it from every real position.
    """

    def __init__(self, config: schema.Model, vocabulary: int) -> None:
        super().__init__()
        self.embedding = Embedding(config, vocabulary)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    @property
    def max_source_length(self) -> int | None:
        """Longest source, its end token included, that has positions; None without such a limit."""
        return self.encoder.position.max_length

    @property
    def max_target_length(self) -> int | None:
        """Longest target, its end token included, that has positions; None without such a limit."""
        return self.decoder.position.max_length

    def forward(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor) -> Tensor:
        """Return the decoder's last states, (B, T, D); state t has seen target tokens 0 … t."""
        mask = padding_mask(source_mask_BS)
        memory_BSD = self.encoder(self.embedding.source(source_BS), mask)
        hidden_BTD: Tensor = self.decoder(self.embedding.target(target_in_BT), memory_BSD, mask)
        return hidden_BTD

    def logits(self, hidden_BTD: Tensor) -> Tensor:
        """Score every token of the vocabulary, (…, D) → (…, W)."""
        return self.embedding.logits(hidden_BTD)

    def encode(self, source_BS: Tensor, source_mask_BS: Tensor) -> Tensor:
        """Return the encoder's output, (B, S, D)."""
        memory_BSD: Tensor = self.encoder(self.embedding.source(source_BS), padding_mask(source_mask_BS))
        return memory_BSD

    @torch.no_grad()
    def start(self, source_BS: Tensor, source_mask_BS: Tensor, max_length: int) -> DecoderState:
        """Encode the source and make ready to decode up to `max_length` positions."""
        mask = padding_mask(source_mask_BS)
        memory_BSD = self.encoder(self.embedding.source(source_BS), mask)
        return self.decoder.start(memory_BSD, mask, max_length)

    @torch.no_grad()
    def step(self, token_B: Tensor, state: DecoderState) -> Tensor:
        """Read one more target token per row and return the logits of the next, (B, W)."""
        hidden_B1D = self.decoder.step(self.embedding.target(token_B[:, None]), state)
        return self.logits(hidden_B1D[:, 0])


def build_seq2seq(config: schema.Model, vocabulary: int) -> Seq2Seq:
    """Build a model on the CPU with its initial weights."""
    with torch.device("meta"):  # the modules' own initialisation would only draw random numbers for nothing
        model = Seq2Seq(config, vocabulary)
    model.to_empty(device="cpu")
    initialise(model)
    return model
