"""How much arithmetic a token costs: matrix products only, a multiply-add counting 2.

One forward pass over a source and a target of as many tokens, 32 unless said otherwise. A training token
costs three times as much, for the backward pass has two products for each of the forward pass. Pure
arithmetic on the configuration, without torch.

D d_model, F d_ff, H heads, G key_value_heads, K d_k, V d_v, W vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

from xformer.config import schema

SENTENCE = 32
"""Tokens of the source, and of the target, that reports state costs for."""

TRAINING = 3
"""A forward and a backward pass, in forward passes."""


@dataclass(frozen=True)
class Flops:
    """Floating-point operations of one forward pass."""

    source_token: int
    target_token: int

    @property
    def token(self) -> float:
        """The mean of a source and a target token."""
        return (self.source_token + self.target_token) / 2

    def training(self, source_tokens: int, target_tokens: int) -> int:
        """Operations of training on so many tokens."""
        return TRAINING * (source_tokens * self.source_token + target_tokens * self.target_token)


def flops(config: schema.Model, vocabulary: int, sentence: int = SENTENCE) -> Flops:
    """Return what one source and one target token cost where both sides have `sentence` tokens.

    The keys and values of cross-attention are made once from each source token, so they are
    charged to the source.
    """
    query = config.d_model * config.heads * config.d_k
    key_value = config.d_model * config.key_value_heads * (config.d_k + config.d_v)
    output = config.heads * config.d_v * config.d_model
    scores_and_context = config.heads * (config.d_k + config.d_v) * sentence
    feedforward = (3 if config.feedforward.kind in schema.GATED else 2) * config.d_model * config.d_ff
    logits = config.d_model * vocabulary

    if config.architecture == "decoder_only":  # every token is scored against both sentences
        layer = query + key_value + 2 * scores_and_context + output + feedforward
        source, target = 2 * config.layers * layer, 2 * config.layers * layer + logits
    else:
        self_attention = query + key_value + scores_and_context + output
        cross_attention = query + scores_and_context + output
        source = config.layers * (self_attention + feedforward + key_value)
        target = config.layers * (self_attention + cross_attention + feedforward) + logits
    return Flops(source_token=2 * source, target_token=2 * target)
