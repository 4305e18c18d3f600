"""The resolvers `${width:n}`, `${depth:n}` and `${updates:n}`: the paper's numbers in sizes of the scale.

`${times:n,m}` is the product of two numbers or ratios, for rows that set a scale's own number higher.
"""

from __future__ import annotations

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
    OmegaConf.register_new_resolver("times", _product, replace=True)


def _product(one: int | float | str, other: int | float | str) -> int | float:
    """A whole number where it comes to one. Raises ValueError for what is no number or ratio."""
    product = Fraction(str(one)) * Fraction(str(other))
    return int(product) if product.denominator == 1 else float(product)


def _resolver(name: str) -> Callable[..., int]:
    def resolve(number: int | str, *, _root_: DictConfig) -> int:
        return scaled(number, _root_.scale[name])

    return resolve
