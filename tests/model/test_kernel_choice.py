"""`auto` takes the kernel that was measured to be faster; a name always gets its own."""

from __future__ import annotations

import torch

from xformer.model.kernel_choice import choose
from xformer.model.kernels import explicit, fused


def test_auto_takes_the_kernel_that_was_measured_to_be_faster():
    cpu = torch.device("cpu")
    assert choose("auto", cpu, torch.float32) is fused
    assert choose("auto", cpu, torch.bfloat16) is explicit
    assert choose("auto", torch.device("cuda"), torch.bfloat16) is fused
    assert choose("explicit", cpu, torch.float32) is explicit
    assert choose("fused", cpu, torch.bfloat16) is fused
