"""The feed-forward sub-layer computes equation 2."""

from __future__ import annotations

import math

import pytest
import torch

from tests.model.configs import GEGLU, GELU, GLU, REGLU, RELU, RELU2, SILU, SWIGLU
from xformer.config import schema
from xformer.model.feedforward import build_feedforward
from xformer.model.initialise import initialise


def set_weights(feedforward, inner: float, output: float) -> None:
    torch.nn.init.constant_(feedforward.inner.weight, inner)
    torch.nn.init.constant_(feedforward.output.weight, output)
    torch.nn.init.constant_(feedforward.inner.bias, 1.0)
    torch.nn.init.constant_(feedforward.output.bias, 0.5)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def relu(x: float) -> float:
    return max(0.0, x)


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def silu(x: float) -> float:
    return x * sigmoid(x)


@pytest.mark.parametrize(
    ("config", "activation"),
    [(RELU, relu), (GELU, gelu), (SILU, silu), (RELU2, lambda x: relu(x) ** 2)],
    ids=["relu", "gelu", "silu", "relu2"],
)
@pytest.mark.parametrize("x", [-3.0, -1.0, 2.0])
def test_the_output_agrees_with_hand_worked_numbers(config, activation, x):
    feedforward = build_feedforward(config, d_model=1, d_ff=3)
    set_weights(feedforward, inner=2.0, output=4.0)
    expected = 3 * 4 * activation(2 * x + 1) + 0.5  # three equal inner units
    # In float64: of gelu far below zero, single precision leaves few digits, and not the same everywhere.
    found = feedforward.double()(torch.tensor([x], dtype=torch.float64)).item()
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("config", "gate"),
    [(GLU, sigmoid), (REGLU, relu), (GEGLU, gelu), (SWIGLU, silu)],
    ids=["glu", "reglu", "geglu", "swiglu"],
)
@pytest.mark.parametrize("x", [-3.0, -0.2, 2.0])
def test_a_gated_output_agrees_with_hand_worked_numbers(config, gate, x):
    feedforward = build_feedforward(config, d_model=1, d_ff=3)
    for (_, matrix), number in zip(feedforward.inner.matrices(), (2.0, 5.0), strict=True):
        torch.nn.init.constant_(matrix, number)
    torch.nn.init.constant_(feedforward.inner.bias, 1.0)
    torch.nn.init.constant_(feedforward.output.weight, 4.0)
    torch.nn.init.constant_(feedforward.output.bias, 0.5)
    expected = 3 * 4 * gate(2 * x + 1) * (5 * x + 1) + 0.5
    found = feedforward.double()(torch.tensor([x], dtype=torch.float64)).item()
    assert found == pytest.approx(expected, rel=1e-9)


def test_without_bias_there_are_two_matrices_only():
    feedforward = build_feedforward(schema.FeedForward(kind="relu", bias=False, dropout=0.0), 4, 8)
    assert sorted(p.shape for p in feedforward.parameters()) == [(4, 8), (8, 4)]
    gated = build_feedforward(schema.FeedForward(kind="swiglu", bias=False, dropout=0.0), 4, 8)
    assert sorted(p.shape for p in gated.parameters()) == [(4, 8), (16, 4)]


@pytest.mark.parametrize("kind", ["relu", "swiglu"])
def test_inner_dropout_acts_in_training_only(kind):
    torch.manual_seed(0)
    feedforward = build_feedforward(schema.FeedForward(kind=kind, bias=True, dropout=0.5), 8, 32)
    initialise(feedforward)
    x = torch.randn(3, 8)
    assert not torch.equal(feedforward(x), feedforward(x))
    feedforward.eval()
    assert torch.equal(feedforward(x), feedforward(x))
