"""Whatever stands in the files of a run folder: it is read, counts as absent, or is plainly refused."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from tests.refusals import at_most_refused
from xformer.config.compose import compose
from xformer.config.validate import dump
from xformer.runs.display import Lines
from xformer.runs.folder import RunFolder, Status
from xformer.runs.search import objective

CONFIG = yaml.safe_dump(dump(compose([])), sort_keys=False).encode()
STATUS = Status(state="running", run_id="r", row_hash="w", experiment="table3/base", seed=1)
AWKWARD = [
    b"[" * 5000,
    b"&a [*a]\n",
    b"? [1]\n: 2\n",
    b"\xff\xfe",
    b"1e999",
    b"\n2026-02-31\n",
    b"seed: 2026-01-02\n",
]

junk = st.binary(max_size=20) | st.sampled_from(AWKWARD)
values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
values |= st.lists(st.integers(), max_size=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A folder whose files each example writes anew."""
    return RunFolder(tmp_path_factory.mktemp("any"))


@settings(deadline=None, max_examples=40)
@given(cut=st.integers(0, len(CONFIG)), put=junk, keep=st.booleans())
def test_any_config_is_read_or_refused(folder: RunFolder, cut: int, put: bytes, keep: bool) -> None:
    folder.config_file.write_bytes(CONFIG[:cut] + put + (CONFIG[cut:] if keep else b""))
    with at_most_refused(naming="config.yaml"):
        folder.config()


@settings(deadline=None, max_examples=300)
@given(key=st.sampled_from([field.name for field in dataclasses.fields(Status)]), value=values)
def test_any_value_in_a_status_is_shown_or_the_status_is_none(
    folder: RunFolder, key: str, value: Any
) -> None:
    written = dataclasses.asdict(STATUS) | {"updates_planned": 9, key: value}
    folder.status_file.write_text(json.dumps(written))
    status = folder.status()
    if status is not None:
        display = Lines("run")
        display._last = -1e9  # it is time for a line
        display.show(status)
        folder.write_status(status, updates=3)


@settings(deadline=None, max_examples=100)
@given(put=junk)
def test_any_bytes_in_status_and_result_are_read_or_count_as_none(folder: RunFolder, put: bytes) -> None:
    for path, read in ((folder.status_file, folder.status), (folder.result_file, folder.result)):
        for content in (put, b'{"state": "running", ' + put, b'{"a": ' + put + b"}"):
            path.write_bytes(content)
            assert read() is None or content.strip().startswith(b"{")


def test_a_folder_in_place_of_a_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "status.json").mkdir()
    (tmp_path / "result.json").mkdir()
    assert RunFolder(tmp_path).status() is None
    assert RunFolder(tmp_path).result() is None


@pytest.mark.parametrize("dev", [None, 3, [], {}, {"perplexity": None}, {"perplexity": "x"}])
def test_a_search_takes_a_damaged_result_for_a_failed_trial(tmp_path: Path, dev: Any) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"dev": dev}))
    assert math.isnan(objective(str(tmp_path)))
