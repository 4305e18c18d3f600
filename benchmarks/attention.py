"""Where which attention kernel is faster: `python -m benchmarks.attention [--threads 1]`.

Forward and backward pass of self-attention over 2,000 tokens of sentences of one length, 8 heads; the two
kernels of `xformer.model.kernels` in turn, the fastest of several rounds. Prints milliseconds for each length
and precision, from which the table in `xformer/model/kernel_choice.py` was made.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from xformer.model.kernels import Kernel, explicit, fused
from xformer.model.masks import padding_mask

TOKENS, HEADS, ROUNDS = 2000, 8, 6
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 128, 256)


def main() -> None:
    """Measure and print a table for each precision and width of a head."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attention", description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    for dtype in (torch.float32, torch.bfloat16):
        for d_k in (8, 16, 64):
            print(f"\n{str(dtype).removeprefix('torch.')}, d_k {d_k}")
            print("| length | explicit ms | fused ms | explicit / fused |\n|---|---|---|---|")
            for length in LENGTHS:
                one, two = _fastest(length, d_k, dtype)
                print(f"| {length} | {one:.2f} | {two:.2f} | {one / two:.2f} |", flush=True)


def _fastest(length: int, d_k: int, dtype: torch.dtype) -> tuple[float, float]:
    sentences = max(1, TOKENS // length)
    real_BS = torch.arange(length) < length - torch.arange(sentences)[:, None] % 3  # some padding
    mask = padding_mask(real_BS)
    q, k, v = (torch.randn(sentences, length, HEADS, d_k).to(dtype).transpose(1, 2) for _ in range(3))

    def step(kernel: Kernel) -> Callable[[], None]:
        def run() -> None:
            leaves = [x.detach().requires_grad_() for x in (q, k, v)]
            out: Tensor = kernel(leaves[0], leaves[1], leaves[2], mask, d_k**-0.5, 0.0)
            out.backward(torch.ones_like(out))

        return run

    times = {kernel: float("inf") for kernel in (explicit, fused)}
    for _ in range(ROUNDS):
        for kernel in times:
            times[kernel] = min(times[kernel], _milliseconds(step(kernel)))
    return times[explicit], times[fused]


def _milliseconds(run: Callable[[], None], repeats: int = 3) -> float:
    run()
    began = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - began) / repeats * 1000


if __name__ == "__main__":
    main()
