"""One contender's training speed, in a process of its own: prints a JSON object.

All see the same batches of made-up sentences with lengths like those of image captions, and are trained by
Adam with the label-smoothed loss. What is counted is real source and target tokens, padding not.

    python -m benchmarks.training "xformer" fp32 --updates 12 --threads 1
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import dataclass, replace

import numpy as np
import torch

from benchmarks.contenders import MAKERS, Contender, autocast
from xformer.config import schema
from xformer.config.compose import compose
from xformer.config.sizes.flops import flops
from xformer.data.batch import Batch, collate
from xformer.data.plan import UpdatePlan
from xformer.data.store import ParallelStore

WARM_UP = 5
COMPILING = 40  # updates, in which every shape that makes torch.compile begin again has been seen
VOCABULARY = {"small": 8000, "base": 37000}


def sizes(name: str) -> schema.Model:
    """`small`: d_model 128, 4 heads, 3+3 layers; `base`: the paper's."""
    if name == "base":
        return compose(["scale=paper"]).model
    return replace(compose(["scale=mini"]).model, heads=4, key_value_heads=4, d_k=32, d_v=32)


def corpus(vocabulary: int) -> tuple[ParallelStore, UpdatePlan]:
    """Updates of about 2,000 tokens a side, of sentences of 5 to 40 tokens around 14."""
    random = np.random.default_rng(1)
    lengths = np.clip(random.lognormal(2.6, 0.35, 20_000).astype(int), 5, 40)
    pairs = [
        (random.integers(4, vocabulary, n).tolist(), random.integers(4, vocabulary, n + 1).tolist())
        for n in lengths
    ]
    store = ParallelStore.from_pairs(pairs, vocabulary)
    plan = UpdatePlan(
        store.source_lengths, store.target_lengths, tokens_per_update=2000, tokens_per_device=2500, seed=1
    )
    return store, plan


def main() -> None:
    """Train and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("name", choices=MAKERS)
    parser.add_argument("precision", choices=("fp32", "bf16"))
    parser.add_argument("--size", choices=VOCABULARY, default="small")
    parser.add_argument("--no-attention-dropout", action="store_true")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--threads", type=int, default=0, help="0 leaves the choice to PyTorch")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(json.dumps(measure(options)))


@dataclass
class Timed:
    """What some updates took and held."""

    seconds: float = 0.0
    reading: float = 0.0  # of these, seconds of making batches
    source: int = 0  # tokens, padding not counted
    target: int = 0
    padded: int = 0  # tokens of both sides, padding counted

    @property
    def tokens(self) -> int:
        return self.source + self.target


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Real tokens a second, and what explains them."""
    device, config = torch.device(options.device), sizes(options.size)
    vocabulary = VOCABULARY[options.size]
    model, loss = MAKERS[options.name](config, vocabulary, not options.no_attention_dropout)
    if options.compile:
        model.compile(dynamic=True)
    store, plan = corpus(vocabulary)
    timed = train(
        (model, loss), store, plan, device=device, precision=options.precision, updates=options.updates,
        warm_up=COMPILING if options.compile else WARM_UP,
    )  # fmt: skip
    work = flops(config, vocabulary).training(timed.source, timed.target)
    return {
        "rate": timed.tokens / timed.seconds,
        "reading": timed.reading / timed.seconds,
        "padding": 1 - timed.tokens / timed.padded,
        "megabytes": _peak(device),
        "utilisation": work / timed.seconds / _matrix_rate(device, options.precision),
    }


def train(
    contender: Contender,
    store: ParallelStore,
    plan: UpdatePlan,
    *,
    device: torch.device,
    precision: str,
    updates: int,
    warm_up: int = WARM_UP,
) -> Timed:
    """Make some updates, the first `warm_up` untimed."""
    model, loss = contender
    model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    timed, began = Timed(), 0.0
    for number in range(warm_up + updates):
        if number == warm_up:
            _wait(device)
            timed, began = Timed(), time.perf_counter()
        asked = time.perf_counter()
        batches = [collate(store, indices) for indices in plan.update(number)]
        timed.reading += time.perf_counter() - asked
        tokens = sum(batch.target_tokens for batch in batches)
        optimizer.zero_grad()
        for batch in batches:
            moved = batch.to(device, non_blocking=True)
            with autocast(device, precision):
                value = loss(moved)
            (value * (batch.target_tokens / tokens)).backward()
            timed.source += batch.source_tokens
            timed.target += batch.target_tokens
            timed.padded += _padded(batch)
        optimizer.step()
    _wait(device)
    timed.seconds = time.perf_counter() - began
    return timed


def _padded(batch: Batch) -> int:
    return batch.source_BS.numel() + batch.target_in_BT.numel()


def _peak(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def _matrix_rate(device: torch.device, precision: str) -> float:
    """Operations a second of a large matrix product, the best of some."""
    size = 1536 if device.type == "cpu" else 8192
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    x, best = torch.randn(size, size, device=device, dtype=dtype), float("inf")
    for _ in range(8):
        _wait(device)
        began = time.perf_counter()
        x @ x
        _wait(device)
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
