"""The words of a command line that change a configuration, in Hydra's grammar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.errors import HydraException

from xformer.errors import UserError


def quote(value: str | Path) -> str:
    """Text as the value of an override, whatever characters it holds."""
    # In Hydra's grammar a backslash means itself, save before a quote.
    return "'" + re.sub(r"(\\*)('|$)", lambda m: m[1] * 2 + (r"\'" if m[2] else ""), str(value)) + "'"


def single_values(overrides: list[str]) -> list[str]:
    """The overrides without those that give several values; what is left says whether it is a sweep."""
    parsed = OverridesParser.create().parse_overrides(overrides)
    for each in parsed:
        if not each.key_or_group:  # Hydra would answer with a failed assertion
            raise UserError(f"{each.input_line}: names no key; write KEY=VALUE")
    return [str(each.input_line) for each in parsed if not each.is_sweep_override()]


def gives_several(word: str) -> bool:
    try:
        (parsed,) = OverridesParser.create().parse_overrides([word])
    except HydraException:  # composing says what is wrong with it
        return False
    return parsed.is_sweep_override()


def corners(parsed: Sequence[Override]) -> list[list[str]]:
    """Points of a search that, checked one by one, cover each value or end of each key at least once."""
    keys = [each.get_key_element() for each in parsed]
    values = [_ends(each) for each in parsed]
    first = [choices[0] for choices in values]
    points = [first]
    for place, choices in enumerate(values):
        points += [[*first[:place], choice, *first[place + 1 :]] for choice in choices[1:]]
    return [[f"{key}={value}" for key, value in zip(keys, point, strict=True)] for point in points]


def _ends(override: Override) -> list[str]:
    value = override.value()
    if isinstance(value, IntervalSweep):
        return [str(value.start), str(value.end)]
    if override.is_sweep_override():
        return [str(each) for each in override.sweep_string_iterator()]
    return [override.get_value_element_as_str()]
