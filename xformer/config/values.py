"""What every group of settings is made of: the strict frozen dataclass, and the kinds of plain value."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from pydantic import ConfigDict, Field, PlainSerializer, PlainValidator
from pydantic.dataclasses import dataclass

_T = TypeVar("_T")
# protected_namespaces: `model` is the field's own word for what we configure.
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings(cls: type[_T]) -> type[_T]:
    """A frozen dataclass that refuses unknown keys and wrong types."""
    return cast(type[_T], dataclass(frozen=True, kw_only=True, config=_STRICT)(cls))


def _ratio(value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, str, Fraction)):
        raise ValueError("must be a ratio such as 1 or 1/4")
    try:
        ratio = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError("must be a ratio such as 1 or 1/4") from None
    if ratio <= 0:
        raise ValueError("must be a positive ratio such as 1 or 1/4")
    return ratio


Ratio = Annotated[Fraction, PlainValidator(_ratio), PlainSerializer(str)]
# More than any of them can be; beyond 2**63, ranges and arrays would fail in the midst of a run.
_MOST = 10**15
Count = Annotated[int, Field(ge=1, le=_MOST)]
CountOrZero = Annotated[int, Field(ge=0)]
# The deepest Transformer published has so many layers (Wang et al. 2022).
Depth = Annotated[int, Field(ge=1, le=1000)]
# Beyond any use; memory and time grow with it.
Beam = Annotated[int, Field(ge=1, le=1000)]
Threads = Annotated[int, Field(ge=0, le=1024)]
# Tokens; a search lays out a table of its longest hypotheses, and 64 bits have an end.
LengthOrZero = Annotated[int, Field(ge=0, le=10**6)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Exponent = Annotated[float, Field(ge=0.0, le=10.0)]  # of lengths, whose power would overflow
Name = Annotated[str, Field(min_length=1)]
