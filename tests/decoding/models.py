"""Small models to decode: one that can be enumerated, one that behaves like a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Rows:
    """A decoder state of tensors with one row per hypothesis."""

    def __init__(self, **tensors: Tensor) -> None:
        self.tensors = tensors
        self.selections = 0

    def select(self, rows: Tensor) -> None:
        self.selections += 1
        self.tensors = {name: tensor[rows] for name, tensor in self.tensors.items()}


class PrefixTable:
    """Another random distribution after every prefix and for every source, as no Markov model would have.

    `temperature` below 1 sharpens it; `end` is added to the logit of EOS.
    """

    max_source_length: int | None = None
    max_target_length: int | None = None

    def __init__(
        self, vocabulary: int, eos: int, *, seed: int = 0, temperature: float = 1.0, end: float = 0.0
    ) -> None:
        self.vocabulary, self.eos, self.seed = vocabulary, eos, seed
        self.temperature, self.end = temperature, end
        self.steps: list[int] = []  # rows of every step

    def logits(self, source: list[int], prefix: list[int]) -> Tensor:
        key = hash((self.seed, *source, -1, *prefix)) % (2**63)
        logits = torch.randn(self.vocabulary, generator=torch.Generator().manual_seed(key)) / self.temperature
        logits[self.eos] += self.end
        return logits

    def log_probability(self, source: list[int], tokens: list[int]) -> float:
        """Of a whole target sequence, EOS included, recomputed from nothing."""
        steps = (
            self.logits(source, tokens[:n]).double().log_softmax(-1)[token] for n, token in enumerate(tokens)
        )
        return float(sum(steps))

    def start(self, source_BS: Tensor, source_mask_BS: Tensor, max_length: int) -> Rows:
        source_BS = source_BS.masked_fill(~source_mask_BS, -1)
        return Rows(source=source_BS, prefix=torch.zeros(len(source_BS), 0, dtype=torch.long))

    def step(self, token_R: Tensor, state: Rows) -> Tensor:
        self.steps.append(len(token_R))
        prefixes = torch.cat((state.tensors["prefix"], token_R.unsqueeze(1)), dim=1)
        state.tensors["prefix"] = prefixes
        return torch.stack(
            [
                self.logits([i for i in source if i >= 0], prefix[1:])
                for source, prefix in zip(state.tensors["source"].tolist(), prefixes.tolist(), strict=True)
            ]
        )


class Recurrent(nn.Module):
    """A GRU that reads a bag of source words and predicts by the embeddings, with large logits."""

    max_source_length: int | None = None
    max_target_length: int | None = None

    def __init__(self, vocabulary: int, *, width: int = 24, sharpness: float = 6.0, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(vocabulary, width)
        self.cell = nn.GRUCell(width, width)
        self.dropout = nn.Dropout(0.5)
        self.sharpness = sharpness

    def start(self, source_BS: Tensor, source_mask_BS: Tensor, max_length: int) -> Rows:
        weight_BS1 = (source_mask_BS / source_mask_BS.sum(1, keepdim=True)).unsqueeze(-1)
        return Rows(hidden=(self.embedding(source_BS) * weight_BS1).sum(1))

    def step(self, token_R: Tensor, state: Rows) -> Tensor:
        hidden = self.cell(self.embedding(token_R), state.tensors["hidden"])
        state.tensors["hidden"] = hidden
        return self.sharpness * self.dropout(hidden) @ self.embedding.weight.T


def padded(sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids padded with 0 at the right, and the mask of what is real."""
    longest = max(map(len, sources))
    ids = torch.tensor([source + [0] * (longest - len(source)) for source in sources])
    mask = torch.tensor([[True] * len(source) + [False] * (longest - len(source)) for source in sources])
    return ids, mask
