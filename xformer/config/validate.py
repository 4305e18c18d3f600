"""From plain values to a `Config`, or to one message that names each wrong key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from xformer.config import schema
from xformer.config.checks import contradictions
from xformer.errors import UserError

_LONGEST = 80  # characters of a wrong value that an error shows


@cache
def _adapter() -> TypeAdapter[schema.Config]:
    return TypeAdapter(schema.Config)


def validate(values: dict[str, Any]) -> schema.Config:
    """Build the configuration from nested plain values.

    Raises UserError that lists every unknown key, wrong type, value out of range and contradiction.
    """
    try:
        # As JSON, since strict Python input would have to be dataclasses already.
        text = json.dumps(values)
    except (TypeError, ValueError, RecursionError) as error:  # a date, a loop, a key that is a list
        raise UserError(
            f"a configuration holds numbers, text, lists and groups of keys only: {error}"
        ) from None
    try:
        config = _adapter().validate_json(text)
    except ValidationError as error:
        raise UserError("\n".join(_explain(detail) for detail in error.errors())) from None
    if found := list(contradictions(config)):
        raise UserError("\n".join(found))
    return config


def dump(config: schema.Config) -> dict[str, Any]:
    """Plain values that `validate` turns back into an equal configuration (JSON and YAML types only)."""
    plain: dict[str, Any] = _adapter().dump_python(config, mode="json")
    return plain


def known_keys(settings: Any = schema.Config, prefix: str = "") -> Iterator[str]:
    """Every full key that some configuration has, `model.heads` and the like."""
    for name, field in settings.__pydantic_fields__.items():
        yield prefix + name
        for choice in _choices(field):
            yield from known_keys(choice, f"{prefix}{name}.")


def unknown(key: str) -> str:
    """Why a key is refused: there is none of its name, or another choice of its group has it."""
    if key in known_keys():
        return f"{key}: has no effect here; it belongs to another choice of {key.rpartition('.')[0]}"
    return f"{key}: no such key{suggest(key)}"


def suggest(key: str) -> str:
    """`; did you mean …?` for a key that is near to a known one, else nothing."""
    if "/" in key:  # the choice of a group
        return suggest(key.replace("/", ".")).replace(".", "/")
    # A scale repeats the names of the keys it sets; who types one means the key itself.
    known = sorted(
        {other for other in known_keys() if key.startswith("scale") or not other.startswith("scale.")}
    )
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if not near:  # the right name in the wrong section
        last = {other.rsplit(".", 1)[-1]: other for other in known}
        near = [
            last[name] for name in difflib.get_close_matches(key.rsplit(".", 1)[-1], last, n=1, cutoff=0.75)
        ]
    return f"; did you mean {near[0]}?" if near else ""


def _choices(field: FieldInfo) -> list[Any]:
    """The settings classes a field may hold: one, several for a strategy, none for a plain value."""
    types = get_args(field.annotation) or (field.annotation,)
    return [each for each in types if hasattr(each, "__pydantic_fields__")]


def _key(location: tuple[int | str, ...]) -> str:
    """The full key; pydantic adds the tag of a strategy (`model.position.learned.…`), which is no key."""
    parts: list[str] = []
    settings: list[Any] = [schema.Config]
    was_strategy = False
    for part in location:
        if was_strategy:
            was_strategy = False
            continue
        parts.append(str(part))
        fields = [each.__pydantic_fields__[part] for each in settings if part in each.__pydantic_fields__]
        settings = [choice for field in fields for choice in _choices(field)]
        was_strategy = len(settings) > 1
    return ".".join(parts)


def _explain(detail: ErrorDetails) -> str:
    key, got, context = _key(detail["loc"]), detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "unexpected_keyword_argument" | "extra_forbidden":
            return unknown(key)
        case "missing" | "missing_argument" | "missing_keyword_only_argument":
            return f"{key}: is missing; give {key}=VALUE"
        case "union_tag_invalid":
            return f"{key}.kind: must be one of {context['expected_tags']}, not {_shown(got['kind'])}"
        case "union_tag_not_found" | "dataclass_type" | "model_attributes_type" | "dict_type":
            named = isinstance(got, str) and len(got) < _LONGEST
            hint = f"; to choose a group write {key.replace('.', '/')}={got}" if named else ""
            return f"{key}: is a group of keys and cannot be {_shown(got)}{hint}"
        case "literal_error":
            return f"{key}: must be {context['expected']}, not {_shown(got)}"
        case "int_type":
            return f"{key}: must be a whole number, not {_shown(got)}"
        case "float_type" | "finite_number":
            return f"{key}: must be a finite number, not {_shown(got)}"
        case "string_type":
            return f"{key}: must be text, not {_shown(got)}"
        case "bool_type":
            return f"{key}: must be true or false, not {_shown(got)}"
        case "value_error":
            return f"{key}: {context['error']}, not {_shown(got)}"
        case _:
            return f"{key}: {in_our_words(detail['msg'])}, not {_shown(got)}"


def in_our_words(message: str) -> str:
    """What pydantic says of a value, as the rest of our messages put it."""
    return message.replace("Input should", "must", 1)


def _shown(value: Any) -> str:
    """A wrong value as it is typed, or its beginning: YAML has no None, True and False."""
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
