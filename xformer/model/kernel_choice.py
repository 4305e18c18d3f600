"""Which attention kernel runs where: by measurement, not by name (docs/design.md, decision 10).

`python -m benchmarks.attention` measures it: forward and backward, 2,000 tokens a batch, sentences of 8
to 256 tokens, d_k 8 to 64 (docs/performance.md has the figures). On a CPU in float32 separate products
take 0.6 to 0.8 times as long as torch's fused kernel at 12 keys, and longer from 16 or 24 on. In bfloat16
they win by far up to 128 and are equal at 256: they run on the matrix units and the fused kernel does
not. One query at a time, as in decoding, the two are alike. CUDA was not measured: there the fused kernel
is taken because it never writes the scores to memory.
"""

from __future__ import annotations

import torch

from xformer.model.kernels import Kernel, explicit, fused

# Separate products run on a CPU for fewer keys than this; what is not listed is fused.
EXPLICIT_BELOW = {torch.float32: 16, torch.bfloat16: 256}


def choose(kernel: str, device: torch.device, dtype: torch.dtype, queries: int, keys: int) -> Kernel:
    """Return the kernel of that name; `auto` is the fastest for the device, the precision and the lengths."""
    match kernel:
        case "explicit":
            return explicit
        case "fused":
            return fused
        case _:
            short = queries > 1 and keys < EXPLICIT_BELOW.get(dtype, 0)
            return explicit if device.type == "cpu" and short else fused
