"""All attention maps of a sentence pair: for each kind of attention a grid of layers × heads.

L layers, H heads, T queries, S keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from xformer.attention_maps.tokens import Pair, Token
from xformer.decoding.translate import evaluating
from xformer.errors import UserError
from xformer.model.attention import CrossAttention
from xformer.model.recording import Recorded, record_attention

Kind = Literal["encoder", "decoder", "cross", "joint"]

TITLES: dict[Kind, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
    "joint": "Self-attention over source and target",
}
"""The kinds in the order in which they are shown; `joint` is that of a model with a single stack."""


@dataclass(frozen=True)
class Grid:
    """The maps of one kind of attention, as many layers × heads."""

    kind: Kind
    queries: tuple[Token, ...]  # the rows: tokens from which the model looks
    keys: tuple[Token, ...]  # the columns: tokens at which it looks
    written: tuple[Token | None, ...]  # what the model is to write next, for queries of the target
    weights_LHTS: npt.NDArray[np.float32]
    first_layer: int = 1  # the model's number of the first layer and head here
    first_head: int = 1

    @property
    def layers(self) -> int:
        return len(self.weights_LHTS)

    @property
    def heads(self) -> int:
        return int(self.weights_LHTS.shape[1])

    @property
    def border(self) -> int:
        """Where, in a sequence of both sentences, the target begins; 0 elsewhere."""
        return self.written.count(None) if self.kind == "joint" else 0


@dataclass(frozen=True)
class AttentionMaps:
    """What is written to a file: the maps, and whose and of what they are."""

    run: str
    update: int
    averaged: int  # checkpoints averaged into the model
    source: str
    target: str
    translated: bool  # the target is the run's own translation
    pair: Pair
    grids: tuple[Grid, ...]


def grids(model: nn.Module, pair: Pair) -> tuple[Grid, ...]:
    """Run the model over the pair with teacher forcing and return the maps of every kind that it has.

    The model is called as in training, with one source (1, S), a mask of ones and one target (1, T), in
    evaluation mode and without gradients. Raises UserError where weights are not numbers.
    """
    with evaluating(model) as device, torch.no_grad(), record_attention(model) as calls:
        source_1S = torch.tensor([[token.id for token in pair.source]], device=device)
        target_1T = torch.tensor([[token.id for token in pair.target]], device=device)
        model(source_1S, torch.ones_like(source_1S, dtype=torch.bool), target_1T)
    return tuple(
        _grid(kind, pair, found)
        for kind in TITLES
        if (found := [call for call in calls if _kind(call, calls) == kind])
    )


def _kind(call: Recorded, calls: Sequence[Recorded]) -> Kind:
    if isinstance(call.attention, CrossAttention):
        return "cross"
    if not any(isinstance(other.attention, CrossAttention) for other in calls):
        return "joint"  # one stack reads source and target in one sequence
    return "encoder" if call.name.startswith("encoder.") else "decoder"


def _grid(kind: Kind, pair: Pair, calls: Sequence[Recorded]) -> Grid:
    weights_LHTS = torch.cat([call.weights_BHTS for call in calls]).float().numpy()  # layers in place of B
    if not np.isfinite(weights_LHTS).all():
        raise UserError("the model's attention weights are not numbers: the run has diverged")
    nothing = (None,) * len(pair.source)
    rows: dict[Kind, tuple[tuple[Token, ...], tuple[Token | None, ...]]] = {
        "encoder": (pair.source, nothing),
        "decoder": (pair.target, pair.written),
        "cross": (pair.target, pair.written),
        "joint": (pair.source + pair.target, nothing + pair.written),
    }
    queries, written = rows[kind]
    keys = pair.source if kind == "cross" else queries
    if weights_LHTS.shape[2:] != (len(queries), len(keys)):
        names = ", ".join(call.name for call in calls)
        raise ValueError(f"{names}: {weights_LHTS.shape[2:]} weights of {len(queries)} × {len(keys)} tokens")
    return Grid(kind, queries, keys, written, weights_LHTS)


def only(
    maps: AttentionMaps, kind: Kind | None = None, layer: int | None = None, head: int | None = None
) -> AttentionMaps:
    """The maps of one kind, one layer, one head, or what two or three of these have in common.

    Layers and heads are counted from 1. Raises UserError where none of the maps is asked for.
    """
    found = []
    for grid in maps.grids:
        layers, heads = _range(layer, grid.layers), _range(head, grid.heads)
        if kind in (None, grid.kind) and layers and heads:
            weights_LHTS = grid.weights_LHTS[layers.start : layers.stop, heads.start : heads.stop]
            found.append(
                replace(
                    grid,
                    weights_LHTS=weights_LHTS,
                    first_layer=layers.start + 1,
                    first_head=heads.start + 1,
                )
            )
    if not found:
        there = ", ".join(
            f"{grid.kind} (1–{grid.layers} layers, 1–{grid.heads} heads)" for grid in maps.grids
        )
        asked = {"--kind": kind, "--layer": layer, "--head": head}
        words = " ".join(f"{option} {value}" for option, value in asked.items() if value is not None)
        raise UserError(f"{words}: the model has no such map; it has {there}")
    return replace(maps, grids=tuple(found))


def _range(wanted: int | None, size: int) -> range:
    """The places of what is wanted, counted from 0: all, one, or none where there is no such number."""
    if wanted is None:
        return range(size)
    return range(wanted - 1, wanted) if 1 <= wanted <= size else range(0)


def cells(found: Sequence[Grid]) -> int:
    """How many weights the maps hold altogether."""
    return sum(grid.weights_LHTS.size for grid in found)


def labels(tokens: Sequence[Token]) -> list[str]:
    """The names of tokens on an axis."""
    return [token.label for token in tokens]
