"""The run folder is read without trust and written without tearing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xformer.config.compose import compose
from xformer.errors import UserError
from xformer.runs.folder import BusyError, RunFolder, Status

STATUS = Status(state="running", run_id="r", row_hash="w", experiment="table3/base", seed=1)


def test_a_frozen_configuration_is_read_back_whole(tmp_path: Path) -> None:
    config = compose(["experiments=table3/A_h1", "scale=mini"])
    folder = RunFolder(tmp_path)
    folder.freeze(config)
    assert folder.config() == config


@pytest.mark.parametrize("text", ["", "[1]", "model: 3", "a: b: c", "\x00", "{}"])
def test_a_damaged_configuration_is_one_plain_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=r"config\.yaml"):
        RunFolder(tmp_path).config()


def test_a_folder_that_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        RunFolder(tmp_path).config()


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="gone: no such folder"):
        RunFolder(tmp_path / "gone").config()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"state": "finished"}', '{"unknown": 1}'])
def test_a_damaged_status_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "status.json").write_text(text)
    assert RunFolder(tmp_path).status() is None


def test_a_status_is_read_back_and_ends_when_it_stops_running(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.write_status(STATUS, updates=3).ended is None
    read = folder.status()
    assert read is not None
    assert read.updates == 3
    ended = folder.write_status(read, state="failed", reason="x")
    assert ended.ended is not None
    assert folder.status() == ended


def test_a_key_of_a_later_version_does_not_disturb(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_status(STATUS)
    text = folder.status_file.read_text().replace("{", '{"later": 1,', 1)
    folder.status_file.write_text(text)
    assert folder.status() is not None


def test_a_folder_is_held_by_one_process_and_by_the_child_it_passes_it_to(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.claim() as lock:
        with pytest.raises(BusyError, match=rf"process {os.getpid()} on "), folder.claim():
            pass
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock,))
    try:
        with pytest.raises(BusyError), folder.claim():  # the child still holds it
            pass
    finally:
        child.communicate(b"\n")
    with folder.claim():
        pass
