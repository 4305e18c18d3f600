"""Norms agree with their formulas, and RMSNorm keeps its statistics in float32."""

from __future__ import annotations

import pytest
import torch

from tests.model.configs import LAYERNORM, RMSNORM
from xformer.config import schema
from xformer.model.norms import RMSNorm, build_norm


def test_layernorm_agrees_with_hand_worked_numbers():
    # (1, 3): mean 2, variance 1.
    norm = build_norm(LAYERNORM, 2)
    torch.testing.assert_close(norm(torch.tensor([1.0, 3.0])), torch.tensor([-1.0, 1.0]))


def test_rmsnorm_agrees_with_hand_worked_numbers():
    # (3, 4): mean square 12.5, root 3.53553.
    norm = RMSNorm(2, epsilon=1e-12)
    torch.nn.init.constant_(norm.weight, 2.0)
    torch.testing.assert_close(norm(torch.tensor([3.0, 4.0])), torch.tensor([1.697056, 2.262742]))


def test_layernorm_without_bias_has_only_a_gain():
    norm = build_norm(schema.LayerNorm(kind="layernorm", epsilon=1e-6, bias=False), 8)
    assert [name for name, _ in norm.named_parameters()] == ["weight"]


def test_rmsnorm_statistics_are_float32_in_a_bfloat16_model():
    x = torch.randn(16, 512, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    exact = x.double() / (x.double().square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()
    y = build_norm(RMSNORM, 512).to(torch.bfloat16)(x)
    assert y.dtype == torch.bfloat16
    # Only the result is rounded; with a root mean square in bfloat16 every third number would be off.
    assert (y == exact.to(torch.bfloat16)).float().mean() > 0.99


def test_rmsnorm_does_not_narrow_float64():
    x = torch.randn(5, 16, dtype=torch.float64)
    expected = x / (x.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()
    torch.testing.assert_close(build_norm(RMSNORM, 16).double()(x), expected, atol=1e-14, rtol=0)


@pytest.mark.parametrize("config", [LAYERNORM, RMSNORM], ids=["layernorm", "rmsnorm"])
def test_a_norm_takes_out_the_size_of_its_input(config):
    norm, x = build_norm(config, 64), torch.randn(3, 64)
    torch.testing.assert_close(norm(1000 * x), norm(x), atol=1e-4, rtol=0)
