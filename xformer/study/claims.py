"""Claims as data: what the paper or the literature says, as questions that figures can answer.

A claim has one or more tests, and holds where all of them do. Each kind of test is a class of its own that
turns its rows into questions about contrasts (`study.question`), better rows counted upwards whatever the
metric. A file of claims is checked as strictly as a configuration.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass as plain_dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import yaml
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from xformer.config import schema
from xformer.errors import UserError
from xformer.study.metric import Decoding, Metric
from xformer.study.question import Above, Question, Within

BUILT_IN = "claims.yaml"
_DECODE: dict[str, TypeAdapter[float]] = {
    key: TypeAdapter(allowed)
    for key, allowed in get_type_hints(schema.Decode, include_extras=True).items()
    if key in schema.DECODING
}

declared = dataclass(
    frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
)
Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


@plain_dataclass(frozen=True)
class RowReference:
    """A row by its experiment and overrides, and how it was decoded where not in its own way."""

    words: frozenset[str]
    decoding: Decoding

    @classmethod
    def read(cls, written: str) -> RowReference:
        """Read `table3/base decode.average=5`. Raises ValueError."""
        words, decoding = [], {}
        for word in written.split():
            if not word.startswith("decode."):
                words.append(word)
                continue
            key, _, value = word.removeprefix("decode.").partition("=")
            if key not in _DECODE:
                raise ValueError(f"{word}: only decode.{', decode.'.join(_DECODE)} can be changed")
            try:
                decoding[key] = _DECODE[key].validate_strings(value)
            except ValueError:
                raise ValueError(f"{word}: {value or 'nothing'} is no number that it can be") from None
        if not words or "=" in words[0]:
            raise ValueError(f"{written}: begins with no experiment")
        return cls(frozenset(words), tuple((key, decoding[key]) for key in _DECODE if key in decoding))


@declared
class _Test:
    """What all kinds have: a metric, and at least two rows that differ."""

    metric: str
    rows: Annotated[tuple[Text, ...], Field(min_length=2)]

    def __post_init__(self) -> None:
        Metric.named(self.metric)
        if len({RowReference.read(row) for row in self.rows}) < len(self.rows):
            raise ValueError("rows: the same row twice")

    def _pair(self) -> tuple[str, str]:
        if len(self.rows) != 2:
            raise ValueError(f"rows: {len(self.rows)} of them, and this kind compares exactly two")
        return self.rows[0], self.rows[1]

    def _sign(self) -> int:
        return Metric.named(self.metric).sign


@declared
class Superiority(_Test):
    """The first row is better than the second, by more than the margin."""

    kind: Literal["superiority"]
    margin: Annotated[float, Field(ge=0.0)] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pair()

    def questions(self) -> tuple[Question, ...]:
        """One: better minus worse above the margin."""
        return (_better(*self._pair(), self._sign(), self.margin),)


@declared
class NoWorse(_Test):
    """The first row is at most the margin worse than the second; it may be better (non-inferiority)."""

    kind: Literal["no_worse"]
    margin: Annotated[float, Field(gt=0.0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pair()

    def questions(self) -> tuple[Question, ...]:
        """One: the first minus the second above minus the margin."""
        return (_better(*self._pair(), self._sign(), -self.margin),)


@declared
class Ordering(_Test):
    """The rows stand from the best to the worst, each better than the next."""

    kind: Literal["ordering"]

    def questions(self) -> tuple[Question, ...]:
        """One for each two neighbours."""
        pairs = zip(self.rows, self.rows[1:], strict=False)
        return tuple(_better(better, worse, self._sign()) for better, worse in pairs)


@declared
class Trend(_Test):
    """The metric gets better along a quantity: the slope of a straight line through the rows' means."""

    kind: Literal["trend"]
    along: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.rows) < 3:
            raise ValueError("rows: a trend needs at least three; of two rows, superiority")
        if len(self.along) != len(self.rows) or len(set(self.along)) < len(self.along):
            raise ValueError(f"along: needs {len(self.rows)} different values, one for each row")

    def questions(self) -> tuple[Question, ...]:
        """One: how much the line rises from the smallest to the largest value."""
        mean = sum(self.along) / len(self.along)
        scale = (max(self.along) - min(self.along)) / sum((each - mean) ** 2 for each in self.along)
        weights = {row: (each - mean) * scale for row, each in zip(self.rows, self.along, strict=True)}
        return (Above(weights, self._sign()),)


@declared
class Equivalence(_Test):
    """The two rows differ by less than the margin, either way."""

    kind: Literal["equivalence"]
    margin: Annotated[float, Field(gt=0.0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pair()

    def questions(self) -> tuple[Question, ...]:
        """One: the difference within ± margin."""
        one, other = self._pair()
        return (Within({one: 1.0, other: -1.0}, self._sign(), self.margin),)


Test = Annotated[Superiority | NoWorse | Ordering | Trend | Equivalence, Field(discriminator="kind")]


@declared
class Claim:
    """What is claimed, who says so, and what would have to be seen."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    says: Text
    source: Text
    tests: Annotated[tuple[Test, ...], Field(min_length=1)]


def _better(better: str, worse: str, sign: int, threshold: float = 0.0) -> Above:
    return Above({better: 1.0, worse: -1.0}, sign, threshold)


# --- reading -------------------------------------------------------------------------------

_CLAIM = TypeAdapter(Claim)


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping, of which YAML would take the last in silence."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise yaml.MarkedYAMLError(
                problem=f"{key} stands twice", problem_mark=node.value[number][0].start_mark
            )
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def built_in_claims() -> tuple[Claim, ...]:
    """The claims of the paper and of later literature that come with xformer."""
    text = resources.files("xformer.study").joinpath(BUILT_IN).read_text(encoding="utf-8")
    return _claims(text, BUILT_IN)


def read_claims(path: Path) -> tuple[Claim, ...]:
    """Read a file of claims. Raises UserError with the file, the claim and the key."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text") from None
    return _claims(text, str(path))


def _claims(text: str, file: str) -> tuple[Claim, ...]:
    try:
        values = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserError(f"{file}: {line}{error.problem}") from None
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise UserError(f"{file}: is not YAML: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(values, list) or not values:
        raise UserError(f"{file}: must hold a list of claims; see xformer/study/{BUILT_IN} for the form")
    claims = tuple(_claim(value, number, file) for number, value in enumerate(values, 1))
    names = [claim.name for claim in claims]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{file}: claim {name}: {names.count(name)} claims have this name")
    return claims


def _claim(value: Any, number: int, file: str) -> Claim:
    named = value.get("name") if isinstance(value, dict) else None
    try:
        return _CLAIM.validate_json(json.dumps(value, default=str))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(f"{file}: claim {named or f'number {number}'}: {_what(first)}") from None


def _what(error: Any) -> str:
    kinds: dict[str, Any] = {"superiority": Superiority, "no_worse": NoWorse, "ordering": Ordering,
                             "trend": Trend, "equivalence": Equivalence}  # fmt: skip
    key = ".".join(str(part) for part in error["loc"] if part not in kinds)
    if error["type"] == "unexpected_keyword_argument":
        kind: Any = next((kinds[part] for part in error["loc"] if part in kinds), Claim)
        return f"{key}: no such key; there are {', '.join(field.name for field in fields(kind))}"
    if error["type"] in ("missing", "missing_argument"):
        return f"{key}: is missing"
    if error["type"].startswith("union_tag"):
        return f"{key}.kind: must be one of {', '.join(kinds)}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{key}: {message}" if key else message
