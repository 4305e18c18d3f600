"""Adam as configured, and the gradient's norm."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from xformer.config import schema
from xformer.training.optimizer import build_adam, clip_gradient

PAPER = schema.Optim(
    label_smoothing=0.1,
    beta1=0.9,
    beta2=0.98,
    epsilon=1e-9,
    learning_rate_multiplier=1.0,
    warmup_updates=4000,
    gradient_clip=None,
)


def weights_with_gradient(*values: float) -> list[nn.Parameter]:
    parameters = [nn.Parameter(torch.zeros(1)) for _ in values]
    for parameter, value in zip(parameters, values, strict=True):
        parameter.grad = torch.tensor([value])
    return parameters


def gradient_of(weights: list[nn.Parameter]) -> list[float]:
    return [weight.grad.item() for weight in weights if weight.grad is not None]


def test_two_steps_equal_the_update_rule_worked_out_by_hand() -> None:
    weight = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    adam = build_adam([weight], PAPER)
    value, first, second = 1.0, 0.0, 0.0
    for step, gradient in enumerate((0.5, -0.2), start=1):
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        adam.param_groups[0]["lr"] = 0.01
        adam.step()
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        value -= 0.01 * (first / (1 - 0.9**step)) / (math.sqrt(second / (1 - 0.98**step)) + 1e-9)
    assert weight.item() == pytest.approx(value, abs=1e-12)


def test_nothing_moves_before_the_schedule_has_spoken() -> None:
    weights = weights_with_gradient(3.0)
    build_adam(weights, PAPER).step()
    assert weights[0].item() == 0.0


def test_the_norm_is_measured_before_clipping_and_the_direction_kept() -> None:
    weights = weights_with_gradient(3.0, 4.0)
    assert clip_gradient(weights, 1.0).item() == pytest.approx(5.0)
    assert gradient_of(weights) == pytest.approx([0.6, 0.8], rel=1e-5)


def test_a_gradient_within_the_limit_and_one_without_limit_stay_as_they_are() -> None:
    for limit in (6.0, None):
        weights = weights_with_gradient(3.0, 4.0)
        clip_gradient(weights, limit)
        assert gradient_of(weights) == [3.0, 4.0]
