"""A prefix language model: source and target in one sequence, one stack over both (Liu et al. 2018).

Source tokens see the whole source, target tokens the source and the target so far. The stack has
as many layers as encoder and decoder together. Target positions go on from the sentence's own
source length, so that padding between the two moves nothing (docs/design.md, decision 9).

B batch, S source length, T target length, L = S + T, D d_model, W vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xformer.config import schema
from xformer.config.sizes.layout import decoder
from xformer.model.cache import KeyValueCache, PrefixState, run_on
from xformer.model.layers import SelfLayer
from xformer.model.masks import padding_mask, prefix_mask
from xformer.model.positions import Span
from xformer.model.seq2seq import Seq2Seq
from xformer.model.stacks import SelfStack


class DecoderOnly(Seq2Seq):
    """One stack that reads the source and writes the target."""

    def __init__(self, config: schema.Model, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        self.decoder = SelfStack(config, decoder(config), SelfLayer)

    @property
    def max_source_length(self) -> int | None:
        both = self.decoder.position.max_length
        return both and both // 2

    @property
    def max_target_length(self) -> int | None:
        return self.max_source_length

    def forward(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor) -> Tensor:
        S, T = source_BS.shape[1], target_in_BT.shape[1]
        span = Span(run_on(source_mask_BS, T), S + T)
        mask = prefix_mask(source_mask_BS, T).with_bias(self.decoder.position.bias(span, span))
        embedded_BLD = torch.cat(
            [self.embedding.source(source_BS), self.embedding.target(target_in_BT)], dim=1
        )
        hidden_BLD: Tensor = self.decoder(embedded_BLD, span, mask)
        return hidden_BLD[:, S:]

    def encode(self, source_BS: Tensor, source_mask_BS: Tensor) -> Tensor:
        return self._read(source_BS, source_mask_BS, None)

    @torch.no_grad()
    def start(self, source_BS: Tensor, source_mask_BS: Tensor, max_length: int) -> PrefixState:
        state = PrefixState(source_mask_BS, len(self.decoder.layers), max_length)
        self._read(source_BS, source_mask_BS, state.caches)
        return state

    @torch.no_grad()
    def advance(self, token_B: Tensor, state: PrefixState) -> Tensor:
        t = state.position
        end = state.source_length + t + 1
        seen = Span(state.index(t + 1), end)
        here = Span(seen.index[:, -1:], end)
        mask = state.mask(t + 1).with_bias(self.decoder.position.bias(here, seen))
        hidden_B1D: Tensor = self.decoder(self.embedding.target(token_B[:, None]), here, mask, state.caches)
        state.position += 1
        return hidden_B1D[:, 0]

    def _read(self, source_BS: Tensor, source_mask_BS: Tensor, caches: list[KeyValueCache] | None) -> Tensor:
        span = Span.run(0, source_BS.shape[1], source_BS.device)
        mask = padding_mask(source_mask_BS).with_bias(self.decoder.position.bias(span, span))
        states_BSD: Tensor = self.decoder(self.embedding.source(source_BS), span, mask, caches)
        return states_BSD
