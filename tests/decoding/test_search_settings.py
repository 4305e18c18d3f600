"""Settings of a search that mean nothing are refused before it begins."""

from __future__ import annotations

import math

import pytest

from xformer.decoding.search import SearchSettings
from xformer.errors import UserError


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"beam": 0}, "beam of 0"),
        ({"nbest": 5}, "5 best hypotheses from a beam of 4"),
        ({"nbest": 0}, "0 best"),
        ({"alpha": -1.0}, "penalty of -1.0"),
        ({"alpha": math.nan}, "penalty of nan"),
        ({"extra_length": -1}, "extra length of -1"),
        ({"min_length": -1}, "minimum length of -1"),
        ({"max_length": -1}, "maximum length of -1"),
        ({"min_length": 5, "max_length": 4}, "minimum length of 5 and a maximum of 4"),
    ],
)
def test_settings_without_meaning_are_refused(wrong: dict, named: str) -> None:
    with pytest.raises(UserError, match=named):
        SearchSettings(**({"beam": 4, "alpha": 0.6, "extra_length": 50, "nbest": 1} | wrong))
