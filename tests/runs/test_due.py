"""What a run folder lacks of what a command asks for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from xformer.config.compose import compose
from xformer.files import write_json
from xformer.runs.due import due
from xformer.runs.folder import RunFolder, Status
from xformer.runs.identity import decoding_hash

CONFIG = compose([])
GREEDY = dataclasses.replace(CONFIG, decode=dataclasses.replace(CONFIG.decode, beam=1))
FINISHED = Status("finished", "id", "row", "table3/base", 1, updates=600)
BOTH = {"valid": {"bleu": 1.0}, "test": {"bleu": 2.0}}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """That of a run whose weights were scored as it was trained to be, after 600 updates."""
    write_json(tmp_path / "result.json", {"updates": 600, "decoding_hash": decoding_hash(CONFIG.decode)})
    return RunFolder(tmp_path)


def keep(folder: RunFolder, **evaluation: Any) -> None:
    folder.evaluations.mkdir()
    write_json(folder.evaluations / f"{decoding_hash(GREEDY.decode)}.json", evaluation)


def test_a_finished_run_is_scored_again_where_it_is_to_be_decoded_otherwise(folder: RunFolder) -> None:
    assert due(CONFIG, folder, FINISHED) == "nothing"
    assert due(GREEDY, folder, FINISHED) == "score"


def test_what_was_scored_again_is_not_scored_a_third_time(folder: RunFolder) -> None:
    keep(folder, update=600, splits=BOTH)
    assert due(GREEDY, folder, FINISHED) == "nothing"
    assert due(CONFIG, folder, FINISHED) == "nothing"


@pytest.mark.parametrize(
    "evaluation",
    [
        {"update": 400, "splits": BOTH},
        {"splits": BOTH},
        {"update": 600, "splits": {"test": BOTH["test"]}},
        {"update": 600, "splits": BOTH | {"valid": None}},
        {"update": 600, "splits": ["valid", "test"]},
        {"update": 600},
    ],
    ids=["other weights", "of unknown weights", "one split", "damaged split", "damaged splits", "no splits"],
)
def test_an_evaluation_that_is_not_whole_or_of_other_weights_is_none(
    folder: RunFolder, evaluation: dict[str, Any]
) -> None:
    keep(folder, **evaluation)
    assert due(GREEDY, folder, FINISHED) == "score"
