"""What a command prints reaches any terminal, and one clear line says where it cannot."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from tests.study.folders import write_run
from tests.system.commands import SMALL, Command, environment, words
from xformer.config.compose import plan
from xformer.errors import UserError
from xformer.runs.launch import _note, launch
from xformer.runs.outcome import Outcome

DIFF = ("inspect", "--diff", "table3/base", "modern/rope")  # a key that only one has is shown as a dash


def test_an_output_without_unicode_has_question_marks(xformer: Command) -> None:
    ended = xformer(*DIFF, PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr
    assert "?" in ended.stdout
    assert "model.position.theta" in ended.stdout


@pytest.mark.parametrize("arguments", [DIFF, ("train", "-c", "job"), ("status", ".")])
def test_a_full_disk_is_told_in_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write_run(tmp_path)
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            words(*arguments), cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "xformer: a file, or what standard output goes to, cannot be written: No space left on device"
    ]


@pytest.mark.parametrize("arguments", [DIFF, ("status", ".")])
def test_a_reader_that_has_gone_ends_a_command_without_a_word(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    write_run(tmp_path)
    started = subprocess.Popen(
        words(*arguments), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.close()
    assert started.stderr.read() == b""
    assert started.wait() == 141


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "-m", *SMALL, "seed=1,2", "runs_dir=file"),
        ("train", "-m", *SMALL, "seed=1,2", "runs_dir=file/runs"),
        ("train", "sweeps=lr", *SMALL, "runs_dir=file"),
        ("record", ".", "--out", "file"),
        ("record", ".", "--out", "file/records"),
    ],
)
def test_a_folder_that_cannot_be_made_is_named(
    xformer: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("mine")
    ended = xformer(*arguments)
    assert ended.returncode == 2
    assert "file" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_a_sweep_on_a_full_disk_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("xformer.runs.launch.tempfile.TemporaryFile", full)
    asked = ["seed=1,2", f"runs_dir={tmp_path}"]
    with pytest.raises(UserError, match=r"runs_dir: cannot write .*No space left.* nothing was started"):
        launch(plan(asked, multirun=True), asked)


def test_a_job_whose_end_cannot_be_written_down_does_not_end_its_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _note(tmp_path / "gone" / "outcome.json", Outcome("custom", 1, "finished"))
    assert "outcome.json: cannot be written: No such file or directory" in capsys.readouterr().err
