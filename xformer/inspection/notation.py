"""Sizes read back as letters: 64 is `H·K` where the model has 4 heads of width 16.

The same number can be many things at once: in the base model d_model, H·K and H·V are all 512. So
a second model with the same strategies is built whose sizes have no products or sums in common, and the
letters are read from its shapes.

B batch, S source length, T target length, D d_model, H heads, G key_value_heads (H where they are as many),
K d_k, V d_v, F d_ff, W vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import prod

from xformer.config import schema

SIZES = {"B": 11, "S": 13, "T": 17}
"""Sentences and their lengths in the second model's batch."""

_LENGTHS = ("S", "T")
_ONE = Fraction(1)


@dataclass(frozen=True)
class Term:
    """A product of letters and a number: `2·F`, `K/2`, `H/G·T`, or a number alone."""

    letters: tuple[str, ...]
    factor: Fraction = _ONE

    def value(self, sizes: Mapping[str, int]) -> Fraction:
        return self.factor * prod(_size(letter, sizes) for letter in self.letters)

    def __str__(self) -> str:
        number = [str(self.factor.numerator)] if self.factor.numerator != 1 or not self.letters else []
        text = "·".join([*number, *self.letters])
        return text if self.factor.denominator == 1 else f"{text}/{self.factor.denominator}"


Expression = tuple[Term, ...]
"""A sum."""


def value(expression: Expression, sizes: Mapping[str, int]) -> int:
    """What an expression comes to at these sizes."""
    total = sum((term.value(sizes) for term in expression), Fraction(0))
    return total.numerator // total.denominator


def text(expression: Expression) -> str:
    """`H·K+2·G·V`."""
    return "+".join(map(str, expression)).replace("+-", "-")


def sizes_of(model: schema.Model, vocabulary: int) -> dict[str, int]:
    """The letters that a model decides. G is there only where it differs from H."""
    sizes = {
        "D": model.d_model, "H": model.heads, "G": model.key_value_heads, "K": model.d_k, "V": model.d_v,
        "F": model.d_ff, "W": vocabulary,
    }  # fmt: skip
    if model.key_value_heads == model.heads:
        del sizes["G"]
    return sizes


def distinct(model: schema.Model) -> tuple[schema.Model, int]:
    """The same strategies at sizes that tell all letters apart, and a vocabulary."""
    shared = model.key_value_heads != model.heads
    # A part of d_k may be turned by positions: that part must stay an even number.
    turned = Fraction(str(getattr(model.position, "fraction", 1)))
    position = model.position
    if isinstance(position, schema.LearnedPosition):
        position = replace(position, max_length=max(position.max_length, 2 * max(SIZES.values())))
    changed = replace(
        model, d_model=2 * 41, heads=15 if shared else 7, key_value_heads=5 if shared else 7,
        d_k=2 * turned.denominator * 19, d_v=23, d_ff=2 * 61, position=position,
    )  # fmt: skip
    return changed, 1009


def read(size: int, letters: Mapping[str, int]) -> Expression:
    """The simplest expression that comes to `size`; the number itself where there is none."""
    return _readings(tuple(sorted(letters.items()))).get(size, (Term((), Fraction(size)),))


@cache
def _readings(letters: tuple[tuple[str, int], ...]) -> dict[int, Expression]:
    sizes = dict(letters)
    found: dict[int, Expression] = {0: (Term((), Fraction(0)),), 1: (Term(()),)}
    for expression in _candidates(sizes):
        total = sum((term.value(sizes) for term in expression), Fraction(0))
        if total.denominator == 1 and total > 1:
            found.setdefault(int(total), expression)
    return found


def _candidates(sizes: Mapping[str, int]) -> Iterator[Expression]:
    """Expressions from the simplest on."""
    order = [letter for letter in "BSTHGKVDFW" if letter in sizes]
    single = [Term((letter,)) for letter in order]
    yield from ((term,) for term in single)
    heads = [f"{letter}" for letter in ("H", "G") if letter in sizes]
    widths = [Term((head, width)) for head in heads for width in ("K", "V")]
    yield from ((term,) for term in widths)
    if "G" in sizes:  # laid end to end
        yield from ((Term(("H/G", length)),) for length in (*_LENGTHS, "(S+T)"))
        yield (Term(("H/G",)),)
    yield (Term(("S",)), Term(("T",)))
    yield (Term(("B", "(S+T)")),)
    for extra in (1, -1):
        yield from ((Term((length,)), Term((), Fraction(extra))) for length in _LENGTHS)
        yield (Term(("S",)), Term(("T",)), Term((), Fraction(extra)))
    for factor in (Fraction(2), Fraction(1, 2), Fraction(3), Fraction(1, 4), Fraction(4)):
        yield from ((Term(term.letters, factor),) for term in (*single, *widths))
    yield from ((Term(pair),) for pair in combinations_with_replacement(order, 2))
    for count in (2, 3):  # projections side by side in one matrix
        yield from (_sum(parts) for parts in combinations_with_replacement(widths, count))
    yield from (_sum(parts) for parts in combinations((*widths, *single), 2))
    yield from (_sum((*parts, Term(("F",), factor))) for parts in combinations_with_replacement(widths, 3)
                for factor in (_ONE, Fraction(2)))  # fmt: skip


def _sum(parts: tuple[Term, ...]) -> Expression:
    """Like parts joined."""
    factors: dict[tuple[str, ...], Fraction] = {}
    for part in parts:
        factors[part.letters] = factors.get(part.letters, Fraction(0)) + part.factor
    return tuple(Term(letters, factor) for letters, factor in factors.items())


def _size(letter: str, sizes: Mapping[str, int]) -> Fraction:
    match letter:
        case "H/G":  # query heads that share a key head
            return Fraction(sizes["H"], sizes["G"])
        case "(S+T)":  # both sentences in a row
            return Fraction(sizes["S"] + sizes["T"])
        case _:
            return Fraction(sizes[letter])
