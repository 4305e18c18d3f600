"""The shape of every tensor from token ids to logits, in letters and in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xformer.config import schema
from xformer.inspection import notation
from xformer.inspection.blank import blank
from xformer.inspection.folding import fold, tellings
from xformer.inspection.trace import Shape, Step, trace

if TYPE_CHECKING:
    from xformer.model.seq2seq import Seq2Seq

SOURCE, TARGET = (7, 5), (6, 4)
"""Tokens of each sentence of the batch that the numbers are for."""


@dataclass(frozen=True)
class Row:
    """One operation, and the shapes of what it makes."""

    module: str
    operation: str
    letters: tuple[str, ...]
    sizes: tuple[Shape, ...]


@dataclass(frozen=True)
class Block:
    """Rows that occur so many times in a row, in modules whose numbers differ (`*`)."""

    rows: tuple[Row, ...]
    times: int


def shape_table(config: schema.Model, model: Seq2Seq) -> list[Block]:
    """Every tensor's shape in a forward pass of a model built from `config`; equal layers once.

    Build it `readable`: fused attention kernels keep the scores to themselves.
    """
    real = run(model)
    lettered, sizes = run_lettered(config, padded=len(set(source_lengths(model))) > 1)
    if [(step.module, step.operation) for step in real] != [(s.module, s.operation) for s in lettered]:
        raise RuntimeError("the model takes another way at other sizes, so that its sizes have no letters")
    rows = [
        Row(
            module=real[number].module,
            operation=operation,
            letters=tuple(_lettered(shape, sizes) for shape in lettered[number].shapes),
            sizes=real[number].shapes,
        )
        for number, operation in tellings(lettered)
    ]
    alike = [(row.operation, row.letters, row.sizes) for row in rows]
    return [
        Block(
            tuple(
                replace(row, module=module)
                for row, module in zip(rows[each.start :], each.modules, strict=False)
            ),
            each.times,
        )
        for each in fold([row.module for row in rows], alike)
    ]


def _lettered(shape: Shape, sizes: dict[str, int]) -> str:
    return " ".join(notation.text(notation.read(size, sizes)) for size in shape)


def readable(config: schema.Model) -> schema.Model:
    """The same model with attention in separate products."""
    return replace(config, attention=replace(config.attention, kernel="explicit"))


def run(model: Seq2Seq) -> list[Step]:
    """Trace the model itself, on the two sentences."""
    return trace(model, source_lengths(model), _within(TARGET, model.max_target_length))


def source_lengths(model: Seq2Seq) -> list[int]:
    """The two sources, cut where the model's positions end."""
    return _within(SOURCE, model.max_source_length)


def _within(lengths: Sequence[int], limit: int | None) -> list[int]:
    return [min(length, limit or length) for length in lengths]


def run_lettered(config: schema.Model, *, padded: bool) -> tuple[list[Step], dict[str, int]]:
    """Trace a model of the same strategies whose sizes can be told apart; return those, too."""
    model, vocabulary = notation.distinct(readable(config))
    sizes = notation.SIZES
    source, target = ([sizes[side]] * sizes["B"] for side in ("S", "T"))
    if padded:  # it takes another way then
        source[-1] -= 1
    steps = trace(blank(model, vocabulary), source, target)
    return steps, {**sizes, **notation.sizes_of(model, vocabulary)}
