"""The feed-forward sub-layer computes equation 2."""

from __future__ import annotations

import math

import pytest
import torch

from tests.model.configs import GELU, RELU
from xformer.config import schema
from xformer.model.feedforward import build_feedforward


def set_weights(feedforward, inner: float, output: float) -> None:
    torch.nn.init.constant_(feedforward.inner.weight, inner)
    torch.nn.init.constant_(feedforward.output.weight, output)
    torch.nn.init.constant_(feedforward.inner.bias, 1.0)
    torch.nn.init.constant_(feedforward.output.bias, 0.5)


@pytest.mark.parametrize(
    ("config", "activation"),
    [(RELU, lambda x: max(0.0, x)), (GELU, lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2)],
    ids=["relu", "gelu"],
)
@pytest.mark.parametrize("x", [-3.0, -1.0, 2.0])
def test_the_output_agrees_with_hand_worked_numbers(config, activation, x):
    feedforward = build_feedforward(config, d_model=1, d_ff=3)
    set_weights(feedforward, inner=2.0, output=4.0)
    expected = 3 * 4 * activation(2 * x + 1) + 0.5  # three equal inner units
    assert feedforward(torch.tensor([x])).item() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_without_bias_there_are_two_matrices_only():
    feedforward = build_feedforward(schema.FeedForward(kind="relu", bias=False, dropout=0.0), 4, 8)
    assert sorted(p.shape for p in feedforward.parameters()) == [(4, 8), (8, 4)]


def test_inner_dropout_acts_in_training_only():
    torch.manual_seed(0)
    feedforward = build_feedforward(schema.FeedForward(kind="relu", bias=True, dropout=0.5), 8, 32)
    x = torch.randn(3, 8)
    assert not torch.equal(feedforward(x), feedforward(x))
    feedforward.eval()
    assert torch.equal(feedforward(x), feedforward(x))
