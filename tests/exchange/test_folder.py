"""An export is whole or absent, and never in place of anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from xformer import cli
from xformer.errors import UserError
from xformer.exchange.folder import Origin, check_free, export_folder

NAMES = frozenset({"weights"})
ORIGIN = Origin("plain", "run", 7, 1)


def write(out: Path, text: str) -> None:
    check_free(out, "plain", NAMES)
    with export_folder(out, ORIGIN) as folder:
        (folder / "weights").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_may_be_new_empty_or_an_export_of_the_same_format(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty", "deep/er"):
        write(tmp_path / name, "first")
        write(tmp_path / name, "second")
        assert (tmp_path / name / "weights").read_text() == "second"
        assert names(tmp_path / name) == ["export.json", "weights"]
    assert names(tmp_path) == ["deep", "empty", "new"]


def test_anything_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "weights").write_text("precious")
    write(tmp_path / "noted", "first")
    (tmp_path / "noted" / "notes").write_text("precious")
    for name, message in (("file", "is a file"), ("mine", "holds something else"), ("noted", "holds notes")):
        with pytest.raises(UserError, match=message):
            write(tmp_path / name, "second")
    write(tmp_path / "other", "first")
    with pytest.raises(UserError, match="something else than an export to marian"):
        check_free(tmp_path / "other", "marian", NAMES)
    assert (tmp_path / "mine" / "weights").read_text() == "precious"
    assert (tmp_path / "noted" / "weights").read_text() == "first"


def fill_half(out: Path) -> None:
    with export_folder(out, ORIGIN) as folder:
        (folder / "weights").write_text("half")
        raise OSError(28, "No space left on device")


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    write(tmp_path / "out", "first")
    for name in ("out", "fresh"):
        with pytest.raises(UserError, match="cannot be written: No space left"):
            fill_half(tmp_path / name)
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "weights").read_text() == "first"


def test_the_folder_of_a_run_is_not_written_over(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = names(trained)
    for format in ("safetensors", "marian"):
        assert cli.main(["export", str(trained), "--to", format, "--out", str(trained)]) == 2
        assert "holds something else" in capsys.readouterr().err
    assert names(trained) == before
