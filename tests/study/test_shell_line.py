"""The command that trains a run again."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.study.folders import config, write_run
from xformer.study.collect import collect
from xformer.study.shell_line import command_of


def command(root: Path) -> str:
    (run,) = collect(root)
    return command_of(run)


def test_a_row_is_named_with_its_scale_and_seed(tmp_path: Path) -> None:
    write_run(tmp_path, "modern/rope", seed=3)
    assert command(tmp_path) == "xformer train experiments=modern/rope scale=tiny seed=3"


def test_a_custom_run_names_no_experiment_and_the_place_of_the_text_is_left_open(tmp_path: Path) -> None:
    files = config("custom", data={"kind": "files", "dir": "/home/me/x", "source": "en", "target": "de"})
    write_run(tmp_path, "custom", configuration=files, overrides=("model.dropout=0.2",))
    assert command(tmp_path) == (
        "xformer train scale=tiny seed=1 data=files data.dir=DIR data.source=en data.target=de "
        "model.dropout=0.2"
    )


def test_a_run_that_kept_its_words_is_repeated_with_them(tmp_path: Path) -> None:
    words = ("experiments=table3/base", "data.seed=7", "decode.beam=1", "tracking.api_key=abc")
    write_run(tmp_path, words=words)
    assert command(tmp_path) == (
        "xformer train experiments=table3/base data.seed=7 decode.beam=1 'tracking.api_key=…'"
    )


@pytest.mark.parametrize("hostile", ["model.x=$(rm -rf /)", "model.x='a b'", "a=`x`;&|", "x=\n# y"])
def test_a_shell_reads_each_override_as_one_word(tmp_path: Path, hostile: str) -> None:
    write_run(tmp_path, overrides=(hostile,))
    assert shlex.split(command(tmp_path))[-1] == " ".join(hostile.split())
