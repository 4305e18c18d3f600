"""`auto` takes the kernel that was measured to be faster; a name always gets its own."""

from __future__ import annotations

import pytest
import torch

from xformer.model.kernel_choice import choose
from xformer.model.kernels import Kernel, explicit, fused


@pytest.mark.parametrize(
    ("name", "device", "dtype", "queries", "keys", "kernel"),
    [
        ("auto", "cpu", torch.float32, 12, 12, explicit),
        ("auto", "cpu", torch.float32, 12, 40, fused),
        ("auto", "cpu", torch.float32, 1, 12, fused),
        ("auto", "cpu", torch.float64, 12, 12, fused),
        ("auto", "cpu", torch.bfloat16, 12, 40, explicit),
        ("auto", "cpu", torch.bfloat16, 400, 400, fused),
        ("auto", "cuda", torch.bfloat16, 12, 12, fused),
        ("explicit", "cpu", torch.float32, 400, 400, explicit),
        ("fused", "cpu", torch.bfloat16, 12, 12, fused),
    ],
)
def test_the_kernel_that_was_measured_to_be_faster_runs_unless_one_is_named(
    name: str, device: str, dtype: torch.dtype, queries: int, keys: int, kernel: Kernel
) -> None:
    assert choose(name, torch.device(device), dtype, queries, keys) is kernel
