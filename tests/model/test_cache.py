"""Decoding one position at a time from the caches equals running over the whole target."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.model.configs import SMALL, VARIANTS, VOCABULARY
from xformer.model import build
from xformer.model.cache import KeyValueCache
from xformer.model.seq2seq import Seq2Seq

MASK = torch.arange(7)[None] < torch.tensor([7, 4, 5])[:, None]
SOURCE = torch.randint(4, VOCABULARY, (3, 7), generator=torch.Generator().manual_seed(0)).where(MASK, 0)
TARGET = torch.randint(4, VOCABULARY, (3, 40), generator=torch.Generator().manual_seed(1))


def decode(model: Seq2Seq, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    state = model.start(source, mask, max_length=target.shape[1])
    logits = [model.step(target[:, t], state) for t in range(target.shape[1])]
    assert state.position == target.shape[1]
    return torch.stack(logits, dim=1)


@pytest.mark.parametrize("name", VARIANTS)
def test_cached_decoding_equals_the_full_forward_pass(name):
    model = build(VARIANTS[name], VOCABULARY).eval()
    full = model.logits(model(SOURCE, MASK, TARGET))
    torch.testing.assert_close(decode(model, SOURCE, MASK, TARGET), full, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", VARIANTS)
def test_rows_may_be_reordered_dropped_and_repeated_on_the_way(name):
    model = build(VARIANTS[name], VOCABULARY).eval()
    state = model.start(SOURCE, MASK, max_length=40)
    history = TARGET[:, :0]
    sentence = torch.arange(3)
    moves = {
        0: [0, 0, 1, 1, 2, 2],  # two beams each
        3: [1, 0, 2, 2, 5, 4],  # trading places, one beam lost
        5: [4, 5, 0, 0],  # the second sentence is finished, the others change places
        20: [3, 1],
    }
    for t in range(25):
        if t in moves:
            rows = torch.tensor(moves[t])
            state.select(rows)
            history, sentence = history[rows], sentence[rows]
        token = torch.randint(4, VOCABULARY, (len(sentence),))
        history = torch.cat([history, token[:, None]], dim=1)
        logits = model.step(token, state)
        full = model.logits(model(SOURCE[sentence], MASK[sentence], history))
        torch.testing.assert_close(logits, full[:, -1], atol=1e-5, rtol=0)


def test_an_empty_source_can_be_decoded():
    model = build(SMALL, VOCABULARY).eval()
    mask = MASK.clone()
    mask[1] = False
    logits = decode(model, SOURCE, mask, TARGET)
    assert logits.isfinite().all()
    alone = decode(model, SOURCE[:1], mask[:1], TARGET[:1])
    torch.testing.assert_close(logits[:1], alone, atol=1e-5, rtol=0)


def test_shared_heads_are_cached_once():
    model = build(replace(SMALL, heads=8, key_value_heads=2, d_k=3, d_v=5), VOCABULARY).eval()
    state = model.start(SOURCE, MASK, max_length=4)
    model.step(TARGET[:, 0], state)
    for cache, (keys, values) in zip(state.caches, state.memories, strict=True):
        k, v = cache.append(torch.zeros(3, 2, 1, 3), torch.zeros(3, 2, 1, 5))
        assert k.shape == (3, 2, 2, 3)
        assert v.shape == (3, 2, 2, 5)
        assert keys.shape == (3, 2, 7, 3)
        assert values.shape == (3, 2, 7, 5)


def test_a_cache_grows_without_losing_anything():
    cache = KeyValueCache(max_length=100)
    keys, values = torch.randn(2, 3, 100, 4), torch.randn(2, 3, 100, 5)
    for t in range(100):
        k, v = cache.append(keys[:, :, t : t + 1], values[:, :, t : t + 1])
        assert torch.equal(k, keys[:, :, : t + 1])
        assert torch.equal(v, values[:, :, : t + 1])


def test_the_source_is_projected_once():
    model = build(SMALL, VOCABULARY).eval()
    projected = []
    for layer in model.decoder.layers:
        layer.cross_attention.memory.register_forward_hook(lambda *_: projected.append(1))
    decode(model, SOURCE, MASK, TARGET[:, :5])
    assert len(projected) == SMALL.layers


def test_the_beams_of_a_sentence_share_its_projected_source():
    model = build(SMALL, VOCABULARY).eval()
    state = model.start(SOURCE, MASK, max_length=4)
    state.select(torch.arange(3).repeat_interleave(4))
    assert len(state.memories[0][0]) == 3
    state.select(torch.arange(4, 12))
    assert len(state.memories[0][0]) == 2
    state.select(torch.tensor([0, 1, 4]))  # no longer equally many
    assert len(state.memories[0][0]) == 3


def test_trading_places_within_a_sentence_leaves_the_projected_source_where_it_is():
    model = build(SMALL, VOCABULARY).eval()
    state = model.start(SOURCE, MASK, max_length=4)
    state.select(torch.tensor([0, 0, 1, 1, 2, 2]))
    before = state.memories[0][0]
    state.select(torch.tensor([1, 0, 2, 2, 5, 4]))
    assert state.memories[0][0] is before
