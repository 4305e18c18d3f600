"""Which numbers a run computes in.

`fp32`  single precision throughout.
`bf16`  weights, gradients and Adam's moments in single precision; matrix products in bfloat16, by
        autocast. With moments in bfloat16 an update at β2 = 0.98 would round to nothing.
`fp64`  double precision throughout, for tests of exactness.
"""

from __future__ import annotations

import contextlib
from typing import Literal

import torch

Setting = Literal["fp32", "bf16", "fp64"]


def parameter_dtype(setting: Setting) -> torch.dtype:
    """The type of weights, gradients and moments."""
    return torch.float64 if setting == "fp64" else torch.float32


def computing(setting: Setting, device: torch.device) -> contextlib.AbstractContextManager[object]:
    """The context of one forward pass in training."""
    if setting == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return contextlib.nullcontext()


def matmul_dtype(tensor: torch.Tensor) -> torch.dtype:
    """The type in which a matrix product of `tensor` is computed here: autocast's, where it is on."""
    kind = tensor.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else tensor.dtype


def slow_here(setting: Setting, device: torch.device) -> bool:
    """Whether a processor lacks the instructions, so that single precision would be faster."""
    return setting == "bf16" and device.type == "cpu" and not torch.ops.mkldnn._is_mkldnn_bf16_supported()
