"""Every placement norms where it says, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import pytest
import torch
from torch import Tensor, nn

from tests.model.configs import (
    DEEPNORM,
    LAYERNORM,
    PARALLEL,
    POST,
    POST_SUB_LAYER,
    PRE,
    SANDWICH,
    SMALL,
    VOCABULARY,
)
from xformer.config.sizes.layout import Stack
from xformer.model import build
from xformer.model.attention import Attention
from xformer.model.deepnorm import constants
from xformer.model.feedforward import FeedForward
from xformer.model.masks import Mask
from xformer.model.norms import build_norm
from xformer.model.placement import Placement, build_placement

ALL = [POST, PRE, SANDWICH, DEEPNORM, POST_SUB_LAYER, PARALLEL]
ALPHA = constants(Stack("encoder", 4, ())).alpha
EACH = pytest.mark.parametrize("config", ALL, ids=lambda config: config.kind)


def unrotated(x: Tensor) -> Tensor:
    return x


def placement(config, sublayers: int = 2, dropout: float = 0.0) -> Placement:
    stack = Stack("encoder", 4, ("attention",) * sublayers)
    return build_placement(config, stack, partial(build_norm, LAYERNORM, 16), dropout)


def test_post_norm_is_norm_of_x_plus_f_of_x():
    x, residual = torch.randn(2, 3, 16), placement(POST)
    first = residual.norms[0](x + 2 * x)
    expected = residual.norms[1](first - first.square())
    assert torch.equal(residual(x, lambda y: 2 * y, lambda y: -y.square()), expected)


def test_pre_norm_is_x_plus_f_of_norm_x():
    x, residual = torch.randn(2, 3, 16), placement(PRE)
    first = x + 2 * residual.norms[0](x)
    expected = first - residual.norms[1](first).square()
    assert torch.equal(residual(x, lambda y: 2 * y, lambda y: -y.square()), expected)


def test_deepnorm_is_norm_of_alpha_x_plus_f_of_x():
    x, residual = torch.randn(2, 3, 16), placement(DEEPNORM)
    first = residual.norms[0](ALPHA * x + 2 * x)
    expected = residual.norms[1](ALPHA * first - first.square())
    assert torch.equal(residual(x, lambda y: 2 * y, lambda y: -y.square()), expected)


def test_sandwich_norms_what_goes_in_and_what_comes_out():
    x, residual = torch.randn(2, 3, 16), placement(SANDWICH)
    for gain, norm in enumerate(residual.norms, start=1):
        nn.init.constant_(norm.weight, gain)
    first = x + residual.norms[1](residual.norms[0](x).exp())
    expected = first + residual.norms[3](residual.norms[2](first).square())
    assert torch.equal(residual(x, torch.exp, torch.square), expected)


def test_post_sub_layer_norms_what_is_added_and_nothing_else():
    x, residual = torch.randn(2, 3, 16), placement(POST_SUB_LAYER)
    first = x + residual.norms[0](x.exp())
    expected = first + residual.norms[1](first.square())
    assert torch.equal(residual(x, torch.exp, torch.square), expected)


def test_parallel_sub_layers_all_read_the_same_normed_input():
    x, residual = torch.randn(2, 3, 16), placement(PARALLEL, sublayers=3)
    (norm,) = residual.norms
    expected = x + norm(x).exp() + norm(x).square() + norm(x).sin()
    torch.testing.assert_close(residual(x, torch.exp, torch.square, torch.sin), expected)


@EACH
def test_dropout_falls_on_the_sublayer_before_the_addition(config):
    residual = placement(config, sublayers=1, dropout=0.999)
    for number in range(len(residual.norms)):
        residual.norms[number] = nn.Identity()
    x = torch.randn(64, 64)
    untouched = ALPHA * x if config is DEEPNORM else x
    kept = (residual(x, lambda y: 1000 * torch.ones_like(y)) == untouched).float().mean()
    assert kept > 0.9  # x itself is never dropped


@pytest.mark.parametrize(
    ("config", "norms"),
    [
        (POST, 2 * 3 + 3 * 3),
        (DEEPNORM, 2 * 3 + 3 * 3),
        (PRE, 2 * 3 + 3 * 3 + 2),
        (POST_SUB_LAYER, 2 * 3 + 3 * 3 + 2),
        (SANDWICH, 2 * (2 * 3 + 3 * 3) + 2),
        (PARALLEL, 3 + 3 + 2),
    ],
    ids=["post", "deepnorm", "pre", "postsublayer", "sandwich", "parallel"],
)
def test_norms_are_as_many_as_the_placement_says(config, norms):
    model = build(replace(SMALL, layers=3, placement=config), VOCABULARY)
    assert sum(isinstance(module, nn.LayerNorm) for module in model.modules()) == norms


def silence_sublayers(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, Attention | FeedForward):
            nn.init.zeros_(module.output.weight)
            nn.init.zeros_(module.output.bias)


@EACH
def test_silent_sublayers_leave_the_identity_or_only_the_norms(config):
    model = build(replace(SMALL, placement=config), VOCABULARY)
    silence_sublayers(model)
    x = 5 + 3 * torch.randn(2, 4, 16)
    decoder_layer = model.decoder.layers[0]
    memory = decoder_layer.cross_attention.project(x)
    encoded = model.encoder.layers[0](x, Mask(), unrotated)
    decoded = decoder_layer(x, Mask(), unrotated, memory, Mask())
    normed = config in (POST, DEEPNORM)
    expected = build_norm(LAYERNORM, 16)(x) if normed else x
    tolerance = 1e-5 if normed else 0  # norm(norm(x)) is norm(x) but for epsilon
    torch.testing.assert_close(encoded, expected, atol=tolerance, rtol=0)
    torch.testing.assert_close(decoded, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("config", [PRE, SANDWICH, POST_SUB_LAYER, PARALLEL], ids=lambda config: config.kind)
def test_stacks_whose_residual_stream_is_not_normed_have_one_norm_at_their_end(config):
    model = build(replace(SMALL, placement=config), VOCABULARY)
    ids, real = torch.randint(4, VOCABULARY, (2, 5)), torch.ones(2, 5, dtype=torch.bool)
    for states in (model.encode(ids, real), model(ids, real, ids)):
        torch.testing.assert_close(states.mean(dim=-1), torch.zeros(2, 5), atol=1e-5, rtol=0)
        torch.testing.assert_close(states.std(dim=-1, correction=0), torch.ones(2, 5), atol=1e-4, rtol=0)


def test_the_placement_changes_the_output_of_every_layer():
    outputs = {}
    for config in ALL:
        torch.manual_seed(0)
        model = build(replace(SMALL, placement=config), VOCABULARY)
        seen = outputs.setdefault(config.kind, [])
        for layer in [*model.encoder.layers, *model.decoder.layers]:
            layer.register_forward_hook(lambda _module, _inputs, output, seen=seen: seen.append(output))
        ids = torch.arange(4, 10)[None]
        model(ids, torch.ones_like(ids, dtype=torch.bool), ids)
    for one, other in combinations(outputs.values(), 2):
        assert len(one) == 4
        assert not any(torch.allclose(a, b) for a, b in zip(one, other, strict=True))
