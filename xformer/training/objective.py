"""The training objective: cross-entropy with label smoothing, summed over real target tokens (5.4).

The smoothed target is the paper's: 1 − ε on the reference plus ε spread evenly over all W classes of
the vocabulary, the reference and the control tokens (padding's among them) included. Padded positions
never come here: callers select the real ones first, so padding is in no sum and costs no projection.

The logits are by far the largest tensor of a small Transformer. They are made, used and dropped a few
hundred rows at a time, and the gradient is formed while they are there, in the forward pass.

Shapes: N real target positions, D d_model, W vocabulary, C rows of one chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from xformer.data.vocabulary import PAD
from xformer.training.precision import matmul_dtype

if TYPE_CHECKING:
    from xformer.model.seq2seq import Seq2Seq

# Logits of one chunk, in numbers: few enough for a CPU's cache, enough to keep a GPU busy.
_CHUNK = {"cpu": 2**20, "cuda": 2**26}
_FEWEST_ROWS = 256  # with fewer, adding up the weight's gradient once a chunk costs more than is won


def loss_sums(
    hidden_ND: Tensor, weight_WD: Tensor, target_N: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """(Σ smoothed loss, Σ negative log-likelihood) in nats over N positions; only the first has a gradient.

    `weight_WD` is the output projection, logits = hidden · weightᵀ. With N = 0 both sums are 0.
    """
    if torch.is_grad_enabled():
        differentiable: Any = _LossWithGradient.apply  # torch leaves it untyped
        loss, nll = differentiable(hidden_ND, weight_WD, target_N, smoothing)
        return loss, nll
    loss, nll = _sums(hidden_ND, weight_WD, target_N, smoothing, None, None)
    return loss, nll


def real_positions(target_BT: Tensor) -> Tensor:
    """Where real targets stand in `target_BT.flatten()`, (N,).

    Called on batches that are still on the CPU: a GPU would have to be waited for.
    """
    return target_BT.flatten().ne(PAD).nonzero().squeeze(1)


def output_weight(model: Seq2Seq) -> Tensor:
    """The matrix that turns the model's states into logits, (W, D)."""
    embedding = model.embedding
    weight_WD: Tensor = embedding.weight_WD[embedding.roles[2]]
    return weight_WD


def _sums(
    hidden_ND: Tensor,
    weight_WD: Tensor,
    target_N: Tensor,
    smoothing: float,
    hidden_gradient_ND: Tensor | None,
    weight_gradient_WD: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Both sums; fills in the gradients of the first for which there is room."""
    compute = matmul_dtype(hidden_ND)
    weight = weight_WD.to(compute)
    chunk = max(_FEWEST_ROWS, _CHUNK.get(hidden_ND.device.type, 2**20) // len(weight))
    loss = hidden_ND.new_zeros((), dtype=weight_WD.dtype)
    nll = torch.zeros_like(loss)
    for start in range(0, len(target_N), chunk):
        rows = slice(start, start + chunk)
        hidden_CD, target_C1 = hidden_ND[rows].to(compute), target_N[rows, None]
        logits_CW = (hidden_CD @ weight.T).to(loss.dtype)
        log_p_CW = torch.log_softmax(logits_CW, dim=-1)
        chunk_nll = -log_p_CW.gather(1, target_C1).sum()
        nll += chunk_nll
        loss += (1 - smoothing) * chunk_nll
        if smoothing > 0:
            loss -= smoothing * log_p_CW.mean(1).sum()
        if hidden_gradient_ND is None or weight_gradient_WD is None:
            continue
        # d loss / d logits = p − smoothed target, made in place of log p.
        gradient_CW = log_p_CW.exp_()
        if smoothing > 0:
            gradient_CW -= smoothing / weight.shape[0]
        gradient_CW.scatter_add_(1, target_C1, gradient_CW.new_full(target_C1.shape, smoothing - 1))
        gradient = gradient_CW.to(compute)
        hidden_gradient_ND[rows] = gradient @ weight
        _add_product(weight_gradient_WD, gradient.T, hidden_CD)
    return loss, nll


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total += left · right, in one pass where the types allow it."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


class _LossWithGradient(torch.autograd.Function):
    """`_sums` with the gradient formed in the forward pass: backward only scales it."""

    @staticmethod
    def forward(
        ctx: Any, hidden_ND: Tensor, weight_WD: Tensor, target_N: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        hidden_gradient_ND, weight_gradient_WD = torch.zeros_like(hidden_ND), torch.zeros_like(weight_WD)
        loss, nll = _sums(hidden_ND, weight_WD, target_N, smoothing, hidden_gradient_ND, weight_gradient_WD)
        ctx.save_for_backward(hidden_gradient_ND, weight_gradient_WD)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, loss_gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient_ND, weight_gradient_WD = ctx.saved_tensors
        return hidden_gradient_ND * loss_gradient, weight_gradient_WD * loss_gradient, None, None
