"""Costs per token agree with torch's own counter of floating-point operations."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.model.configs import EXPLICIT, SMALL, VARIANTS
from xformer.config import schema
from xformer.config.sizes.flops import SENTENCE, TRAINING, flops
from xformer.model.architectures import skeleton


@pytest.mark.parametrize("name", VARIANTS)
def test_costs_agree_with_torchs_flop_counter(name):
    config = replace(VARIANTS[name], attention=EXPLICIT)  # the counter does not know the fused CPU kernel
    with torch.device("meta"):
        model = skeleton(config, 100)
        ids = torch.zeros(3, SENTENCE, dtype=torch.long)
        mask = torch.ones(3, SENTENCE, dtype=torch.bool)
    with FlopCounterMode(display=False) as counter:
        logits = model.logits(model(ids, mask, ids))
    cost = flops(config, 100)
    tokens = 3 * SENTENCE
    assert tokens * (cost.source_token + cost.target_token) == pytest.approx(
        counter.get_total_flops(), rel=0.01
    )
    with FlopCounterMode(display=False) as source_counter:
        model.encode(ids, mask)
    assert tokens * (cost.source_token - _for_the_target(config)) == pytest.approx(
        source_counter.get_total_flops(), rel=0.01
    )
    with FlopCounterMode(display=False) as backward_counter:
        logits.sum().backward()
    forward = tokens * (cost.source_token + cost.target_token)
    assert forward + backward_counter.get_total_flops() == pytest.approx(
        cost.training(tokens, tokens), rel=0.01
    )


def _for_the_target(config: schema.Model) -> int:
    """What a source token costs only because there is a target to attend to it or to be masked from it."""
    if config.architecture == "decoder_only":
        return 2 * 2 * config.layers * config.heads * (config.d_k + config.d_v) * SENTENCE
    return 2 * config.layers * config.d_model * config.key_value_heads * (config.d_k + config.d_v)


def test_the_smallest_model_agrees_with_hand_worked_numbers():
    config = replace(SMALL, layers=1, d_model=4, d_ff=8, heads=1, key_value_heads=1, d_k=2, d_v=3)
    # Multiply-adds of one token: query 8, key and value 20, scores and context 5 · 32 = 160,
    # output 12, feed-forward 64, vocabulary 40; cross keys and values, 20, on the source's account.
    cost = flops(config, 10)
    assert cost.source_token == 2 * (8 + 20 + 160 + 12 + 64 + 20)
    assert cost.target_token == 2 * (8 + 20 + 160 + 12 + 8 + 160 + 12 + 64 + 40)
    assert cost.training(5, 7) == TRAINING * (5 * cost.source_token + 7 * cost.target_token)
