"""The resolvers `${width:n}`, `${depth:n}` and `${updates:n}`: the paper's numbers in sizes of the scale.

`${times:n,m}` is the product of two numbers, for rows that set a scale's own number higher.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction

from omegaconf import DictConfig, OmegaConf


def scaled(number: int | str, ratio: int | str | Fraction) -> int:
    """`number` times `ratio` in exact arithmetic.

    Less than 1 becomes 1. Raises ValueError for any other fraction, since rounding would compare rows at
    sizes that nobody chose.
    """
    product = Fraction(str(number)) * Fraction(str(ratio))
    if product < 1:
        return 1
    if product.denominator != 1:
        raise ValueError(f"{number} times {ratio} is {product}, not a whole number")
    return int(product)


def register_resolvers() -> None:
    """Make the resolvers known to OmegaConf; calling it again does no harm."""
    for name in ("width", "depth", "updates"):
        OmegaConf.register_new_resolver(name, _resolver(name), replace=True)
    OmegaConf.register_new_resolver("times", operator.mul, replace=True)


def _resolver(name: str) -> Callable[..., int]:
    def resolve(number: int | str, *, _root_: DictConfig) -> int:
        return scaled(number, _root_.scale[name])

    return resolve
