"""Dropout drops what it says, keeps the expectation, and is silent in evaluation."""

from __future__ import annotations

import pytest
import torch

from xformer.model.dropout import Dropout, dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_share_dropped_is_p_and_the_rest_is_scaled(p, dtype):
    torch.manual_seed(0)
    y = dropout(torch.ones(401, 1003, dtype=dtype), p)
    assert y.dtype == dtype
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.004)
    kept = y[y != 0]
    assert (kept == kept[0]).all()
    assert kept[0].item() == pytest.approx(1 / (1 - p), rel=1e-2 if dtype == torch.bfloat16 else 1e-3)


def test_the_scale_matches_the_rounded_probability_exactly():
    y = dropout(torch.ones(1000, dtype=torch.float64), 0.1)
    assert y.max().item() == pytest.approx(65536 / (65536 - 6554), rel=1e-12)


def test_a_probability_that_rounds_to_one_keeps_the_last_level():
    torch.manual_seed(0)
    y = dropout(torch.ones(1_000_000, dtype=torch.float64), 0.999999)
    assert set(y.unique().tolist()) == {0.0, 65536.0}


def test_neighbouring_elements_of_one_draw_are_dropped_independently():
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(200_000, 4), 0.5) == 0).float()
    correlation = torch.corrcoef(dropped.T)
    torch.testing.assert_close(correlation, torch.eye(4), atol=0.01, rtol=0)
    torch.testing.assert_close(dropped.mean(dim=0), torch.full((4,), 0.5), atol=0.01, rtol=0)


def test_the_gradient_is_dropped_where_the_value_was():
    x = torch.ones(1000, requires_grad=True)
    y = dropout(x, 0.4)
    y.sum().backward()
    assert torch.equal(x.grad, y)


def test_masks_follow_torchs_global_seed():
    x = torch.ones(100)
    torch.manual_seed(3)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)


def test_evaluation_drops_nothing():
    x = torch.ones(10)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x
