"""The training objective: cross-entropy with label smoothing, summed over real target tokens (5.4).

The smoothed target is the paper's: 1 − ε on the reference plus ε spread evenly over all W classes of
the vocabulary, the reference and the control tokens (padding's among them) included. Padded positions
never come here: callers select the real ones first, so padding is in no sum and costs no projection.

The logits are by far the largest tensor of a small Transformer. They are made and used a few hundred
rows at a time, and the gradient is formed while they are there, in the forward pass.

Shapes: B batch, T target length, N real target positions, D d_model, W vocabulary, C rows of one chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from xformer.data.vocabulary import PAD
from xformer.training.precision import matmul_dtype

if TYPE_CHECKING:
    from xformer.model.seq2seq import Seq2Seq

# Bytes of logits in one chunk: few enough to stay near a processor's caches, enough to keep it busy.
_CHUNK = {"cpu": 2**23, "cuda": 2**27}
_FEWEST_ROWS = 256  # with fewer, adding up the weight's gradient once a chunk costs more than is won


def loss_sums(
    hidden_ND: Tensor, weight_WD: Tensor, target_N: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """(Σ smoothed loss, Σ negative log-likelihood) in nats over N positions; only the first has a gradient.

    `weight_WD` is the output projection, logits = hidden · weightᵀ. With N = 0 both sums are 0.
    """
    differentiable: Any = _LossWithGradient.apply  # torch leaves it untyped
    loss, nll = differentiable(hidden_ND, weight_WD, target_N, smoothing)
    return loss, nll


def real_positions(target_BT: Tensor) -> Tensor:
    """Where real targets stand in `target_BT.flatten()`, (N,).

    Called on batches that are still on the CPU: a GPU would have to be waited for.
    """
    return target_BT.flatten().ne(PAD).nonzero().squeeze(1)


def chunk_rows(positions: int, vocabulary: int, device: torch.device, dtype: torch.dtype) -> int:
    """How many of the positions have their logits in memory at a time."""
    row = vocabulary * dtype.itemsize
    return max(1, min(positions, max(_FEWEST_ROWS, _CHUNK.get(device.type, _CHUNK["cpu"]) // row)))


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
    gradients: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Both sums; adds the gradient of the first to `gradients`, those of hidden states and weight.

    With lse the logarithm of the sum of a position's exponentiated logits, its smoothed loss is

        (1 − ε) (lse − logit of the reference) + ε (lse − mean of its logits)

    The last mean is linear in the hidden state: it acts through the mean of the weight, once for all
    positions, and is never formed from the logits.
    """
    compute = matmul_dtype(hidden_ND)
    weight = weight_WD.to(compute)
    nll_sum = weight_WD.new_zeros(())
    lse_sum = weight_WD.new_zeros(())
    rows = chunk_rows(len(hidden_ND), len(weight), weight.device, compute)
    # Memory for the logits of a chunk, used for each in turn: fresh pages would cost as much again.
    room_CW = weight.new_empty(rows, len(weight))
    for start in range(0, len(target_N), rows):
        chunk = slice(start, start + rows)
        hidden_CD, target_C1 = hidden_ND[chunk].to(compute), target_N[chunk, None]
        logits_CW = torch.mm(hidden_CD, weight.T, out=room_CW[: len(hidden_CD)])
        reference_C1 = logits_CW.gather(1, target_C1).to(weight_WD.dtype)
        largest_C1 = logits_CW.amax(1, keepdim=True).to(weight_WD.dtype)
        # Where they lie on a CPU; that other devices' kernels can do so was not tried.
        on_cpu = logits_CW.device.type == "cpu"
        p_CW = torch.softmax(logits_CW, 1, out=logits_CW if on_cpu else torch.empty_like(logits_CW))
        # The largest probability is at least 1 / W, that of the reference may be too small for a number.
        lse_C1 = largest_C1 - p_CW.amax(1, keepdim=True).to(weight_WD.dtype).log()
        nll_sum += (lse_C1 - reference_C1).sum()
        lse_sum += lse_C1.sum()
        # Of the loss by the logits: probabilities, less 1 − ε at the reference.
        places = torch.arange(len(p_CW), device=p_CW.device), target_C1[:, 0]
        gradient_CW = p_CW.index_put_(places, p_CW.new_tensor(smoothing - 1), accumulate=True)
        gradients[0][chunk] += gradient_CW @ weight
        _add_product(gradients[1], gradient_CW.T, hidden_CD)
    mean_D, sum_D = weight_WD.mean(0), hidden_ND.to(weight_WD.dtype).sum(0)
    gradients[0].sub_(smoothing * mean_D)
    gradients[1].sub_(smoothing / len(weight_WD) * sum_D)
    return (1 - smoothing) * nll_sum + smoothing * (lse_sum - sum_D.dot(mean_D)), nll_sum


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
        gradients = torch.zeros_like(hidden_ND), torch.zeros_like(weight_WD)
        loss, nll = _sums(hidden_ND, weight_WD, target_N, smoothing, gradients)
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, loss_gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient_ND, weight_gradient_WD = ctx.saved_tensors
        return hidden_gradient_ND * loss_gradient, weight_gradient_WD * loss_gradient, None, None
