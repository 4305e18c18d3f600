"""Both attention kernels compute equation 1, and a query with nothing to see gets zeros."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from xformer.model.kernels import attention_weights, explicit, fused
from xformer.model.masks import Mask, causal_mask, padding_mask

KERNELS = [pytest.param(explicit, id="explicit"), pytest.param(fused, id="fused")]
REAL_BS = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])


def heads(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), requires_grad=True)


def masks() -> dict[str, Mask]:
    bias_HTS = torch.randn(4, 7, 7, generator=torch.Generator().manual_seed(0))
    return {
        "none": Mask(),
        "padding": padding_mask(REAL_BS),
        "causal": causal_mask(7, torch.device("cpu")),
        "bias": Mask().with_bias(bias_HTS),
        "padding_and_bias": padding_mask(REAL_BS).with_bias(bias_HTS),
        "causal_and_bias": causal_mask(7, torch.device("cpu")).with_bias(bias_HTS),
    }


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_smallest_attention_agrees_with_hand_worked_numbers(kernel):
    # One query (1, 0), keys (1, 0) and (0, 1), scale 1/sqrt(2): scores 0.7071 and 0, so the
    # weights are e^0.7071 / (e^0.7071 + 1) = 0.66976 and 0.33024; values 10 and 20.
    q = torch.tensor([[[[1.0, 0.0]]]])
    k = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    v = torch.tensor([[[[10.0], [20.0]]]])
    context = kernel(q, k, v, Mask(), 1 / math.sqrt(2), 0.0)
    assert context.item() == pytest.approx(0.66976 * 10 + 0.33024 * 20, abs=1e-4)


@pytest.mark.parametrize("name", masks())
@pytest.mark.parametrize("key_value_heads", [4, 2, 1])
def test_kernels_agree_in_values_and_gradients(name, key_value_heads):
    mask = masks()[name]
    inputs = heads(2, 4, 7, 6), heads(2, key_value_heads, 7, 6), heads(2, key_value_heads, 7, 5)
    results = []
    for kernel in (explicit, fused):
        context = kernel(*inputs, mask, 0.4, 0.0)
        results.append([context, *torch.autograd.grad(context.square().sum(), inputs)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_weights_are_a_distribution_over_the_allowed_keys():
    weights = attention_weights(heads(2, 4, 7, 6), heads(2, 4, 7, 6), padding_mask(REAL_BS), 0.4)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 4, 7))
    assert (weights[1, :, :, 4:] == 0).all()


def test_shared_key_heads_equal_repeated_ones():
    q, k, v = heads(2, 6, 5, 4), heads(2, 2, 5, 4), heads(2, 2, 5, 3)
    repeated = (x.repeat_interleave(3, dim=1) for x in (k, v))
    torch.testing.assert_close(explicit(q, k, v, Mask(), 0.5, 0.0), explicit(q, *repeated, Mask(), 0.5, 0.0))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_query_with_no_key_gets_zeros_and_leaves_its_neighbours_alone(kernel, dtype):
    real_BS = torch.tensor([[True] * 7, [False] * 7])
    inputs = [
        x.detach().to(dtype).requires_grad_()
        for x in (heads(2, 2, 7, 4), heads(2, 2, 7, 4), heads(2, 2, 7, 4))
    ]
    context = kernel(*inputs, padding_mask(real_BS), 0.5, 0.0)
    assert (context[1] == 0).all()
    alone = kernel(*(x[:1] for x in inputs), Mask(), 0.5, 0.0)
    torch.testing.assert_close(context[:1], alone)
    for gradient in torch.autograd.grad(context.float().square().sum(), inputs):
        assert gradient.isfinite().all()
        assert (gradient[1] == 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_dropout_on_the_weights_keeps_their_expectation(kernel):
    torch.manual_seed(0)
    q, k, v = heads(64, 8, 16, 4), heads(64, 8, 16, 4), torch.ones(64, 8, 16, 1)
    context = kernel(q, k, v, Mask(), 0.5, 0.25)
    assert context.std() > 0.05
    assert context.mean().item() == pytest.approx(1.0, abs=0.01)
