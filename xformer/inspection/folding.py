"""A long sequence of operations told shortly: what matters of it, and equal layers once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xformer.inspection.trace import Step

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")

# They look at the same numbers in another way. In a row they are told as one.
_VIEWS = {"view", "reshape", "transpose", "flatten", "unflatten", "unsqueeze", "squeeze", "permute",
          "expand", "index", "T", "contiguous"}  # fmt: skip
# Told although they may keep the shape: the paper draws a box for them, or they look something up.
_NAMED = {"softmax", "relu", "gelu", "silu", "sigmoid", "embedding", "index"}


def tellings(steps: Sequence[Step]) -> list[tuple[int, str]]:
    """What is worth telling: the number of the step that ends it, and the name of what happened.

    Left out is arithmetic that keeps the shape: additions, masks, scalings. A module without parts is
    told once, by what it returns.
    """
    told: list[tuple[int, str]] = []
    for number, step in enumerate(steps):
        if step.keeps_shape and not step.whole and step.operation not in _NAMED:
            continue
        name = step.operation
        if told and told[-1][0] == number - 1 and steps[number - 1].module == step.module:
            before = told[-1][1]
            if step.whole and before == name:
                told.pop()
            elif step.continues and {name, before.split(", ")[-1]} <= _VIEWS:
                told.pop()
                name = f"{before}, {name}"
        told.append((number, name))
    return told


@dataclass(frozen=True)
class Stretch:
    """Items from `start` on, `length` of them, that occur `times` times in a row.

    modules: the module of each item; where repetitions differ in a number, `*` stands for it.
    """

    start: int
    length: int
    times: int
    modules: tuple[str, ...]


def fold(modules: Sequence[str], alike: Sequence[object]) -> list[Stretch]:
    """Find what repeats, the longest stretch first.

    modules: the module of each item. alike: what else must be equal in a repetition; of the modules, all
    but the numbers.
    """
    keys = [(_NUMBER.sub("*", module), likeness) for module, likeness in zip(modules, alike, strict=True)]
    folded: list[Stretch] = []
    start = single = 0
    while start < len(keys):
        length, times = _repetition(keys, modules, start)
        if times > 1:
            folded += _once(modules, single, start)
            first, second = (modules[start + each * length :][:length] for each in (0, 1))
            names = tuple(map(_common, first, second))
            folded.append(Stretch(start, length, times, names))
            single = start + length * times
        start += length * times
    return folded + _once(modules, single, start)


def _once(modules: Sequence[str], start: int, end: int) -> list[Stretch]:
    return [Stretch(start, end - start, 1, tuple(modules[start:end]))] if end > start else []


def _common(left: str, right: str) -> str:
    """`encoder.layers.0.norms.1` and `encoder.layers.1.norms.1` are both `encoder.layers.*.norms.1`."""
    parts = zip(left.split("."), right.split("."), strict=True)
    return ".".join(one if one == other else "*" for one, other in parts)


def _repetition(keys: Sequence[object], modules: Sequence[str], start: int) -> tuple[int, int]:
    """The length and number of the repetitions from `start` on that cover most; (1, 1) for none."""
    best = (1, 1)
    for length in range(1, (len(keys) - start) // 2 + 1):
        pattern = keys[start : start + length]
        times = 1
        while keys[start + times * length : start + (times + 1) * length] == pattern:
            times += 1
        # Within one module the same operation may well come twice; layers have numbers of their own.
        if times > 1 and modules[start] != modules[start + length] and length * times > best[0] * best[1]:
            best = (length, times)
    return best
