"""Multi-head attention is the formula of section 3.2.2, written out head by head."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.model.configs import EXPLICIT, FUSED, QK_NORM, SMALL
from xformer.config import schema
from xformer.model.attention import CrossAttention, SelfAttention, split_heads
from xformer.model.initialise import initialise
from xformer.model.masks import Mask, causal_mask
from xformer.model.projections import Projections

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


@pytest.mark.parametrize(("scale", "factor"), [("sqrt_d_k", 9**-0.5), ("d_k", 1 / 9), ("none", 1.0)])
@pytest.mark.parametrize("kernel", ["explicit", "fused"])
def test_scores_are_divided_by_what_the_scale_says(scale, factor, kernel):
    attention = SelfAttention(
        replace(
            SMALL, heads=1, key_value_heads=1, d_k=9, attention=replace(EXPLICIT, scale=scale, kernel=kernel)
        )
    )
    initialise(attention)
    x = torch.randn(4, 16)
    matrices = dict(attention.input.matrices())
    scores = (x @ matrices["query"].T) @ (x @ matrices["key"].T).T
    expected = (scores * factor).softmax(-1) @ (x @ matrices["value"].T) @ attention.output.weight.T
    torch.testing.assert_close(attention(x[None], Mask(), unrotated)[0], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_normed_queries_and_keys_have_a_root_mean_square_of_one_in_every_head(kind):
    attention = kind(replace(SMALL, attention=QK_NORM, d_k=6))
    initialise(attention)
    seen = []
    x = 100 * torch.randn(2, 5, 16)
    attention.attend = lambda q, k, v, mask: seen.extend([q, k]) or x
    if kind is SelfAttention:
        attention(x, Mask(), unrotated)
    else:
        attention(x, attention.project(x), Mask())
    for normed in seen:
        rms = normed.square().mean(dim=-1).sqrt()
        assert rms.shape == (2, 2, 5)
        torch.testing.assert_close(rms, torch.ones_like(rms), atol=1e-4, rtol=0)


def test_queries_and_keys_are_normed_before_they_are_rotated_and_the_gain_is_trained():
    attention = SelfAttention(replace(SMALL, attention=QK_NORM))
    initialise(attention)
    torch.nn.init.constant_(attention.query_norm.weight, 3.0)
    norms = []

    def watch(y_BHTK: Tensor) -> Tensor:
        norms.append(y_BHTK.square().mean(dim=-1).sqrt())
        return y_BHTK

    attention(torch.randn(1, 4, 16), Mask(), watch)
    torch.testing.assert_close(norms[0], torch.full((1, 2, 4), 3.0), atol=1e-3, rtol=0)
    torch.testing.assert_close(norms[1], torch.ones(1, 2, 4), atol=1e-3, rtol=0)


@pytest.mark.parametrize("d_k", [4, 64, 512])
def test_raw_scores_of_unit_variance_inputs_spread_by_the_root_of_d_k(d_k):
    """Section 3.2.1, footnote 4, inside the model's own attention."""
    config = replace(SMALL, d_model=d_k, heads=1, key_value_heads=1, d_k=d_k, d_v=d_k)
    attention = SelfAttention(config)
    initialise(attention)
    for _, matrix in attention.input.matrices():
        torch.nn.init.eye_(matrix)  # unit variance in, unit variance out
    seen = []
    attention.attend = lambda q, k, v, mask: seen.extend([q, k]) or q
    torch.manual_seed(3)
    attention(torch.randn(8, 128, d_k), Mask(), unrotated)
    q, k = seen
    raw = q @ k.transpose(-2, -1)
    off_diagonal = raw[
        ..., ~torch.eye(128, dtype=torch.bool)
    ]  # a query and its own key are no independent pair
    assert off_diagonal.std().item() == pytest.approx(d_k**0.5, rel=0.05)
    assert (off_diagonal * attention.scale).std().item() == pytest.approx(1.0, rel=0.05)


def test_unscaled_scores_of_wide_heads_leave_the_softmax_almost_no_choice():
    """The reasoning of section 3.2.1: the largest weight over ten keys, d_k = 512."""
    torch.manual_seed(3)
    q, k = torch.randn(2000, 1, 512), torch.randn(2000, 10, 512)
    raw = (q @ k.transpose(-2, -1))[:, 0]
    unscaled, scaled = (
        raw.softmax(-1).amax(-1).mean().item(),
        (raw / 512**0.5).softmax(-1).amax(-1).mean().item(),
    )
    assert unscaled > 0.95
    assert scaled < 0.45
