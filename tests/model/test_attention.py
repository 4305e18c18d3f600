"""Multi-head attention is the formula of section 3.2.2, written out head by head."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.model.configs import EXPLICIT, FUSED, SMALL
from xformer.config import schema
from xformer.model.attention import CrossAttention, Projections, SelfAttention, split_heads
from xformer.model.initialise import initialise
from xformer.model.masks import Mask, causal_mask

SIZES = {
    "paper": {},
    "more_values_than_keys": {"d_k": 3, "d_v": 7},
    "heads_wider_than_the_model": {"d_k": 24, "d_v": 20},
    "grouped": {"heads": 6, "key_value_heads": 3, "d_k": 4, "d_v": 5},
    "multi_query": {"heads": 4, "key_value_heads": 1, "d_k": 6, "d_v": 2},
}


def unrotated(x: Tensor) -> Tensor:
    return x


def by_hand(
    config: schema.Model, query, key, value, output, x: Tensor, memory: Tensor, causal: bool
) -> Tensor:
    """Concat(head_1 … head_h) W_O with head_i = softmax(Q_i K_iᵀ / sqrt(d_k)) V_i."""
    share = config.heads // config.key_value_heads
    heads = []
    for h in range(config.heads):
        q = (x @ query.T)[:, h * config.d_k : (h + 1) * config.d_k]
        g = h // share
        k = (memory @ key.T)[:, g * config.d_k : (g + 1) * config.d_k]
        v = (memory @ value.T)[:, g * config.d_v : (g + 1) * config.d_v]
        scores = q @ k.T / config.d_k**0.5
        if causal:
            scores = scores + torch.full_like(scores, float("-inf")).triu(1)
        heads.append(scores.softmax(-1) @ v)
    return torch.cat(heads, dim=1) @ output.T


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("kernel", [EXPLICIT, FUSED], ids=["explicit", "fused"])
def test_self_attention_agrees_with_the_formula_head_by_head(name, kernel):
    config = replace(SMALL, **SIZES[name], attention=kernel)
    attention = SelfAttention(config)
    initialise(attention)
    x = torch.randn(5, 16)
    matrices = dict(attention.input.matrices())
    expected = by_hand(
        config, matrices["query"], matrices["key"], matrices["value"], attention.output.weight, x, x, True
    )
    ours = attention(x[None], causal_mask(5, x.device), unrotated)[0]
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", SIZES)
def test_cross_attention_agrees_with_the_formula_head_by_head(name):
    config = replace(SMALL, **SIZES[name])
    attention = CrossAttention(config)
    initialise(attention)
    x, memory = torch.randn(3, 16), torch.randn(6, 16)
    key_value = dict(attention.memory.matrices())
    expected = by_hand(
        config,
        attention.query.weight,
        key_value["key"],
        key_value["value"],
        attention.output.weight,
        x,
        memory,
        False,
    )
    ours = attention(x[None], attention.project(memory[None]), Mask())[0]
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


def test_queries_and_keys_are_rotated_and_values_are_not():
    attention = SelfAttention(SMALL)
    initialise(attention)
    x, shapes = torch.randn(1, 5, 16), []

    def reverse(y_BHTK: Tensor) -> Tensor:
        shapes.append(tuple(y_BHTK.shape))
        return y_BHTK.flip(-1)  # an orthogonal map: scores of rotated pairs stay as they were

    torch.testing.assert_close(attention(x, Mask(), reverse), attention(x, Mask(), unrotated))
    assert shapes == [(1, 2, 5, 8), (1, 2, 5, 8)]


def test_packed_projections_equal_separate_ones():
    packed = Projections(4, {"query": 3, "value": 5}, bias=True)
    initialise(packed)
    torch.nn.init.normal_(packed.bias)
    x = torch.randn(2, 7, 4)
    for part, (_, matrix), bias in zip(packed(x), packed.matrices(), packed.bias.split([3, 5]), strict=True):
        torch.testing.assert_close(part, x @ matrix.T + bias)


def test_without_bias_an_attention_has_matrices_only():
    config = replace(SMALL, attention=schema.Attention(bias=False, dropout=0.0, kernel="auto"))
    for attention in (SelfAttention(config), CrossAttention(config)):
        assert all(parameter.dim() == 2 for parameter in attention.parameters())


def test_heads_are_neighbouring_slices():
    x = torch.arange(6.0).view(1, 1, 6)
    assert split_heads(x, 2)[0, :, 0].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_attention_dropout_acts_in_training_only():
    config = replace(SMALL, attention=schema.Attention(bias=True, dropout=0.5, kernel="explicit"))
    attention = SelfAttention(config)
    initialise(attention)
    x = torch.randn(1, 5, 16)
    assert not torch.equal(attention(x, Mask(), unrotated), attention(x, Mask(), unrotated))
    attention.eval()
    assert torch.equal(attention(x, Mask(), unrotated), attention(x, Mask(), unrotated))
