"""One contender's training speed, in a process of its own: prints real tokens a second.

Both models have the sizes of `table3/base` at `scale=mini`, see the same batches of made-up sentences with
lengths like those of image captions, and are trained by Adam with the label-smoothed loss.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from xformer.config.compose import compose
from xformer.data.batch import Batch, collate
from xformer.data.plan import UpdatePlan
from xformer.data.store import ParallelStore
from xformer.model import build
from xformer.model.positions import sinusoids
from xformer.training.objective import loss_sums, output_weight, real_positions

VOCABULARY, WARM_UP, SMOOTHING = 8000, 5, 0.1
CONFIG = compose(["scale=mini"])
SIZES = CONFIG.model


def batches(updates: int) -> list[Batch]:
    """As many updates of about 2,000 tokens a side, of sentences of 5 to 40 tokens around 14."""
    random = np.random.default_rng(1)
    lengths = np.clip(random.lognormal(2.6, 0.35, 20_000).astype(int), 5, 40)
    pairs = [
        (random.integers(4, VOCABULARY, n).tolist(), random.integers(4, VOCABULARY, n + 1).tolist())
        for n in lengths
    ]
    store = ParallelStore.from_pairs(pairs, VOCABULARY)
    plan = UpdatePlan(
        store.source_lengths, store.target_lengths, tokens_per_update=2000, tokens_per_device=2500, seed=1
    )
    return [collate(store, indices) for n in range(updates) for indices in plan.update(n)]


def xformer() -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """The model and objective of this project."""
    model = build(SIZES, VOCABULARY)

    def loss(batch: Batch) -> Tensor:
        real_N = real_positions(batch.target_out_BT)
        hidden_BTD = model(batch.source_BS, batch.source_mask_BS, batch.target_in_BT)
        hidden_ND = hidden_BTD.flatten(0, 1).index_select(0, real_N)
        target_N = batch.target_out_BT.flatten().index_select(0, real_N)
        total, _ = loss_sums(hidden_ND, output_weight(model), target_N, SMOOTHING)
        return total / batch.target_tokens

    return model, loss


class Reference(nn.Module):
    """torch.nn.Transformer with the embeddings and the tied projection that it leaves to its user."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, SIZES.d_model)
        nn.init.normal_(self.embedding.weight, std=SIZES.d_model**-0.5)
        self.transformer = nn.Transformer(
            SIZES.d_model,
            SIZES.heads,
            SIZES.layers,
            SIZES.layers,
            SIZES.d_ff,
            SIZES.dropout,
            batch_first=True,
        )
        self.register_buffer("positions", sinusoids(256, SIZES.d_model, "interleaved").float())

    def forward(self, batch: Batch) -> Tensor:
        pad_BS = ~batch.source_mask_BS
        causal = nn.Transformer.generate_square_subsequent_mask(batch.target_in_BT.shape[1])
        hidden: Tensor = self.transformer(
            self.embed(batch.source_BS), self.embed(batch.target_in_BT), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=pad_BS, memory_key_padding_mask=pad_BS,
        )  # fmt: skip
        return hidden @ self.embedding.weight.T

    def embed(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.embedding(ids) * SIZES.d_model**0.5
        return nn.functional.dropout(embedded + self.positions[: ids.shape[1]], SIZES.dropout, self.training)


def reference() -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """torch.nn.Transformer with the stock loss."""
    model = Reference()

    def loss(batch: Batch) -> Tensor:
        logits = model(batch).flatten(0, 1).float()
        return nn.functional.cross_entropy(
            logits, batch.target_out_BT.flatten(), ignore_index=0, label_smoothing=SMOOTHING
        )

    return model, loss


def main(name: str, updates: int, threads: int) -> None:
    """Train and print the speed."""
    if threads:
        torch.set_num_threads(threads)
    torch.manual_seed(1)
    model, loss = xformer() if name.startswith("xformer") else reference()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    work = batches(WARM_UP + updates)
    began, tokens = 0.0, 0
    for number, batch in enumerate(work):
        if number == WARM_UP:
            began, tokens = time.perf_counter(), 0
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=name.endswith("bf16")):
            value = loss(batch)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        tokens += batch.source_tokens + batch.target_tokens
    print(tokens / (time.perf_counter() - began))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
