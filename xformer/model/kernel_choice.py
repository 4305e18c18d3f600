"""Which attention kernel runs where: by measurement, not by name (docs/design.md, decision 10).

Measured on a CPU with matrix units (AVX-512, AMX), forward and backward, 2,000 tokens a batch, sentences of
8 to 256 tokens, d_k 8 to 64. In float32 torch's fused kernel is as fast as separate products at 8 tokens
and up to twice as fast at 100. In bfloat16 it takes 1.5 to 9 times as long: separate products run on the
matrix units and it does not. One query at a time, as in decoding, the two are alike. CUDA was not measured:
there the fused kernel is taken because it never writes the scores to memory.
"""

from __future__ import annotations

import torch

from xformer.model.kernels import Kernel, explicit, fused

# Device and precision of the queries; what is not listed is fused.
FASTEST: dict[tuple[str, torch.dtype], Kernel] = {
    ("cpu", torch.float32): fused,
    ("cpu", torch.bfloat16): explicit,
}


def choose(kernel: str, device: torch.device, dtype: torch.dtype) -> Kernel:
    """Return the kernel of that name; `auto` is the fastest one for the device and precision."""
    match kernel:
        case "explicit":
            return explicit
        case "fused":
            return fused
        case _:
            return FASTEST.get((device.type, dtype), fused)
