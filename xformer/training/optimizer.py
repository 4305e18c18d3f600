"""Adam as in section 5.3, and the norm of the gradient that it is about to follow."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from xformer.config import schema


def build_adam(parameters: Iterable[nn.Parameter], optim: schema.Optim) -> torch.optim.Adam:
    """Adam with the configured β and ε; its rate is 0 until the schedule sets that of update 1."""
    return torch.optim.Adam(
        parameters,
        lr=0.0,
        betas=(optim.beta1, optim.beta2),
        eps=optim.epsilon,
        fused=True,  # one kernel for all parameters, on CPU and on CUDA
    )


def clip_gradient(parameters: Iterable[nn.Parameter], limit: float | None) -> Tensor:
    """Scale the gradient down to norm `limit`, if there is one; return the norm before, a 0-d tensor.

    The norm stays on its device: reading it is left to whoever can afford to wait.
    """
    with_gradient = [parameter for parameter in parameters if parameter.grad is not None]
    norm = nn.utils.get_total_norm(
        [parameter.grad for parameter in with_gradient if parameter.grad is not None]
    )
    if limit is not None:
        nn.utils.clip_grads_with_norm_(with_gradient, limit, norm)
    return norm
