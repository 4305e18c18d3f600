"""Files appear whole, with the permissions of any other file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xformer.errors import UserError
from xformer.files import replacing, write_atomic, written


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o007, 0o660)])
def test_a_file_may_be_read_by_whom_the_mask_lets(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_atomic(tmp_path / "x", "text")
        assert (tmp_path / "x").stat().st_mode & 0o777 == mode
        assert os.umask(mask) == mask  # as it was
    finally:
        os.umask(before)


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x", "old")

    def interrupted() -> None:
        with replacing(tmp_path / "x") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "x").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_a_disk_says_is_told_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "x"
    with pytest.raises(UserError, match="nowhere/x: cannot be written: No such file"), written(path):
        write_atomic(path, "text")
