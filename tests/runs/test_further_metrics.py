"""What the command line offers is what there is."""

from __future__ import annotations

import argparse

import pytest

from xformer.cli import _parser
from xformer.config.compose import compose
from xformer.errors import UserError
from xformer.exchange.export import FORMATS
from xformer.runs.further_metrics import METRICS, target_language


def choices(command: str, option: str) -> list[str]:
    (commands,) = (each for each in _parser()._actions if isinstance(each, argparse._SubParsersAction))
    (action,) = (each for each in commands.choices[command]._actions if option in each.option_strings)
    assert action.choices is not None
    return sorted(action.choices)


def test_the_command_line_offers_every_metric_and_format() -> None:
    """Written out there, so that `xformer --help` loads nothing heavy."""
    assert choices("evaluate", "--metric") == sorted(METRICS)
    assert choices("export", "--to") == sorted(FORMATS)


def test_the_target_s_language_is_known_by_the_ending_of_its_files() -> None:
    files = ["data=files", "data.dir=x", "data.source=en"]
    assert target_language(compose([*files, "data.target=de"]).data) == "de"
    assert target_language(compose(["data=wmt14_en_fr"]).data) == "fr"
    assert target_language(compose([*files, "data.target=target"]).data) is None
    assert target_language(compose(["data=grammar"]).data) is None


def test_moses_needs_a_language() -> None:
    METRICS["tokenised_bleu"].check("de")
    with pytest.raises(UserError, match="two letters"):
        METRICS["tokenised_bleu"].check(None)
