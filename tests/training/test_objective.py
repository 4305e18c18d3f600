"""The chunked objective against plain formulas.

Shapes: B batch, T target length, N positions, D d_model, W vocabulary.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from xformer.data.vocabulary import PAD
from xformer.training import objective
from xformer.training.objective import loss_sums, real_positions


def plain(hidden_ND: Tensor, weight_WD: Tensor, target_N: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Both sums as the paper says them, all logits at once."""
    log_p_NW = torch.log_softmax(hidden_ND @ weight_WD.T, dim=-1)
    reference_NW = one_hot(target_N, len(weight_WD)).to(log_p_NW.dtype)
    wanted_NW = (1 - smoothing) * reference_NW + smoothing / len(weight_WD)
    nll = -log_p_NW.gather(1, target_N[:, None]).sum()
    return -(wanted_NW * log_p_NW).sum(), nll


def example(
    positions: int, vocabulary: int, d_model: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    hidden = torch.randn(positions, d_model, dtype=dtype, requires_grad=True)
    weight = torch.randn(vocabulary, d_model, dtype=dtype, requires_grad=True)
    return hidden, weight, torch.randint(vocabulary, (positions,))


def gradients(function: object, *arguments: object) -> tuple[Tensor, Tensor, list[Tensor]]:
    loss, nll = function(*arguments)  # type: ignore[operator]
    return loss.detach(), nll.detach(), list(torch.autograd.grad(loss * 0.37, arguments[:2]))  # type: ignore[arg-type]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("positions", [1, 600])  # less than a chunk; two whole ones and a part
def test_sums_and_gradients_equal_the_plain_formula(
    smoothing: float, dtype: torch.dtype, tolerance: float, positions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(objective._CHUNK, "cpu", 1)  # the fewest rows a chunk may have
    arguments = (*example(positions, 11, 6, dtype), smoothing)
    loss, nll, found = gradients(loss_sums, *arguments)
    expected_loss, expected_nll, expected = gradients(plain, *arguments)
    assert torch.allclose(loss, expected_loss, rtol=tolerance)
    assert torch.allclose(nll, expected_nll, rtol=tolerance)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=tolerance, atol=tolerance)


def test_the_gradient_passes_gradcheck() -> None:
    hidden, weight, target = example(7, 5, 3, torch.float64)
    assert torch.autograd.gradcheck(lambda h, w: loss_sums(h, w, target, 0.1)[0], (hidden, weight))


def test_the_smoothed_loss_is_torchs_own() -> None:
    hidden, weight, target = example(9, 8, 4, torch.float64)
    theirs = cross_entropy(hidden @ weight.T, target, label_smoothing=0.1, reduction="sum")
    assert torch.allclose(loss_sums(hidden, weight, target, 0.1)[0], theirs)


def test_a_value_worked_out_by_hand() -> None:
    # Five classes, ε = 0.1: the reference is wanted with 0.9 + 0.02, each other class, padding's
    # among them, with 0.02. Logits ln 4, 0, 0, 0, 0 give probabilities 1/2 and four times 1/8.
    weight_WD = torch.tensor([[math.log(4)], [0.0], [0.0], [0.0], [0.0]], dtype=torch.float64)
    hidden_ND = torch.ones(1, 1, dtype=torch.float64)
    loss, nll = loss_sums(hidden_ND, weight_WD, torch.tensor([0]), 0.1)
    assert nll.item() == pytest.approx(math.log(2), abs=1e-12)
    assert loss.item() == pytest.approx(0.92 * math.log(2) + 4 * 0.02 * math.log(8), abs=1e-12)


def test_the_plain_likelihood_takes_no_part_in_the_gradient() -> None:
    _, nll = loss_sums(*example(4, 5, 3, torch.float32), 0.1)
    assert not nll.requires_grad


def test_no_position_gives_zero_and_a_zero_gradient() -> None:
    hidden, weight, target = example(0, 5, 3, torch.float32)
    loss, nll, (hidden_gradient, weight_gradient) = gradients(loss_sums, hidden, weight, target, 0.1)
    assert (loss.item(), nll.item()) == (0.0, 0.0)
    assert hidden_gradient.shape == (0, 3)
    assert not weight_gradient.any()


def test_in_bfloat16_the_sums_are_near_those_of_single_precision() -> None:
    hidden, weight, target = example(500, 50, 16, torch.float32)
    exact, _, expected = gradients(loss_sums, hidden, weight, target, 0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, nll, found = gradients(loss_sums, hidden, weight, target, 0.1)
    assert loss.dtype == nll.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=1e-2)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 0.02 * other.norm()


def test_padded_positions_are_left_out() -> None:
    target_BT = torch.tensor([[7, 5, PAD], [PAD, PAD, PAD], [9, PAD, PAD]])
    assert real_positions(target_BT).tolist() == [0, 1, 6]
