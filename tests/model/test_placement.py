"""Every placement norms where it says, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from tests.model.configs import LAYERNORM, POST, PRE, SMALL, VOCABULARY
from xformer.model import build
from xformer.model.attention import Attention
from xformer.model.feedforward import FeedForward
from xformer.model.masks import Mask
from xformer.model.norms import build_norm
from xformer.model.placement import Placement, build_placement


def unrotated(x: Tensor) -> Tensor:
    return x


def placement(config, sublayers: int = 2, dropout: float = 0.0) -> Placement:
    return build_placement(config, sublayers, partial(build_norm, LAYERNORM, 16), dropout)


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


@pytest.mark.parametrize("config", [POST, PRE], ids=["post", "pre"])
def test_dropout_falls_on_the_sublayer_before_the_addition(config):
    residual = placement(config, sublayers=1, dropout=0.999)
    residual.norms[0] = nn.Identity()
    x = torch.randn(64, 64)
    kept = (residual(x, lambda y: 1000 * torch.ones_like(y)) == x).float().mean()
    assert kept > 0.9  # x itself is never dropped


@pytest.mark.parametrize(
    ("config", "norms"), [(POST, 2 * 3 + 3 * 3), (PRE, 2 * 3 + 3 * 3 + 2)], ids=["post", "pre"]
)
def test_norms_are_as_many_as_the_placement_says(config, norms):
    model = build(replace(SMALL, layers=3, placement=config), VOCABULARY)
    assert sum(isinstance(module, nn.LayerNorm) for module in model.modules()) == norms


def silence_sublayers(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, Attention | FeedForward):
            nn.init.zeros_(module.output.weight)
            nn.init.zeros_(module.output.bias)


@pytest.mark.parametrize("config", [POST, PRE], ids=["post", "pre"])
def test_silent_sublayers_leave_the_identity_or_only_the_norms(config):
    model = build(replace(SMALL, placement=config), VOCABULARY)
    silence_sublayers(model)
    x = 5 + 3 * torch.randn(2, 4, 16)
    decoder_layer = model.decoder.layers[0]
    memory = decoder_layer.cross_attention.project(x)
    encoded = model.encoder.layers[0](x, Mask(), unrotated)
    decoded = decoder_layer(x, Mask(), unrotated, memory, Mask())
    expected = x if config is PRE else build_norm(LAYERNORM, 16)(x)
    tolerance = 0 if config is PRE else 1e-5  # norm(norm(x)) is norm(x) but for epsilon
    torch.testing.assert_close(encoded, expected, atol=tolerance, rtol=0)
    torch.testing.assert_close(decoded, expected, atol=tolerance, rtol=0)


def test_the_final_norm_of_pre_norm_stacks_is_at_their_end():
    model = build(replace(SMALL, placement=PRE), VOCABULARY)
    ids, real = torch.randint(4, VOCABULARY, (2, 5)), torch.ones(2, 5, dtype=torch.bool)
    for states in (model.encode(ids, real), model(ids, real, ids)):
        torch.testing.assert_close(states.mean(dim=-1), torch.zeros(2, 5), atol=1e-5, rtol=0)
        torch.testing.assert_close(states.std(dim=-1, correction=0), torch.ones(2, 5), atol=1e-4, rtol=0)


def test_the_placement_changes_the_output_of_every_layer():
    outputs = {}
    for config in (POST, PRE):
        torch.manual_seed(0)
        model = build(replace(SMALL, placement=config), VOCABULARY)
        seen = outputs.setdefault(config.kind, [])
        for layer in [*model.encoder.layers, *model.decoder.layers]:
            layer.register_forward_hook(lambda _module, _inputs, output, seen=seen: seen.append(output))
        ids = torch.arange(4, 10)[None]
        model(ids, torch.ones_like(ids, dtype=torch.bool), ids)
    assert len(outputs["post"]) == 4
    assert not any(torch.allclose(a, b) for a, b in zip(outputs["post"], outputs["pre"], strict=True))
