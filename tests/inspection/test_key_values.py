"""What a decoder remembers: measured, and by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.model.configs import BASE, SMALL, VARIANTS, VOCABULARY
from xformer.inspection.blank import blank
from xformer.inspection.key_values import BYTES, KeyValues, key_values


@pytest.mark.parametrize("name", [name for name in VARIANTS if "only" not in name])
def test_each_layer_keeps_a_key_and_a_value_a_head_for_each_token(name):
    config = VARIANTS[name]
    by_hand = config.layers * config.key_value_heads * (config.d_k + config.d_v)
    assert key_values(blank(config, VOCABULARY)) == KeyValues(by_hand, by_hand)


def test_the_base_model_keeps_24_kilobytes_a_token_and_an_eighth_with_one_key_value_head():
    assert key_values(blank(BASE, VOCABULARY)).per_target_token * BYTES["fp32"] == 6 * 8 * 128 * 4
    shared = key_values(blank(replace(BASE, key_value_heads=1), VOCABULARY))
    assert shared.per_target_token * BYTES["fp32"] == 6 * 128 * 4
    assert shared.per_source_token == shared.per_target_token


def test_a_sentence_keeps_what_its_tokens_keep():
    assert KeyValues(10, 3).sentence(source_tokens=4, target_tokens=5) == 55


def test_the_bytes_are_those_of_torchs_types():
    types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp64": torch.float64}
    assert {name: each.itemsize for name, each in types.items()} == BYTES


def test_what_the_decoder_holds_is_what_is_counted():
    """Once more without the walk over the state: the caches' own tensors."""
    model = blank(SMALL, VOCABULARY).eval()
    source = torch.zeros(1, 5, dtype=torch.long)
    state = model.start(source, torch.ones_like(source, dtype=torch.bool), 3)
    for _ in range(3):
        model.step(source[:, 0], state)
    held = sum(x.numel() for memory in state.memories for x in memory)
    held += sum(
        cache._keys[:, :, : cache.length].numel() + cache._values[:, :, : cache.length].numel()
        for cache in state.caches
    )
    assert key_values(model).sentence(source_tokens=5, target_tokens=3) == held
