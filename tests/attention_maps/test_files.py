"""The ending chooses the format; a file is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attention_maps.models import made_up
from xformer.attention_maps import files
from xformer.attention_maps.files import RENDERERS, check_path, write_maps
from xformer.errors import UserError

STARTS = {
    ".html": b"<!DOCTYPE html>",
    ".png": b"\x89PNG",
    ".pdf": b"%PDF",
    ".svg": b"<?xml",
    ".json": b"{",
    ".npz": b"PK",
}


@pytest.mark.parametrize("ending", [*STARTS, ".HTML", ".Json"])
def test_each_ending_writes_its_format(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"maps{ending}"
    write_maps(made_up(layers=1, heads=1), path)
    assert path.read_bytes().startswith(STARTS[ending.lower()])
    assert list(tmp_path.iterdir()) == [path]


def test_every_format_is_tried_above() -> None:
    assert set(STARTS) == set(RENDERERS)


@pytest.mark.parametrize("name", ["maps.jpg", "maps", "maps.html.gz", ".html"])
def test_an_unknown_ending_is_refused_with_those_that_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"use one of \.html \.png \.pdf \.svg \.json \.npz"):
        check_path(tmp_path / name)


def test_a_folder_that_is_missing_or_in_the_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no folder .*nowhere"):
        check_path(tmp_path / "nowhere" / "maps.html")
    (tmp_path / "maps.html").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        check_path(tmp_path / "maps.html")


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "maps.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_atomic", full)
    with pytest.raises(UserError, match=r"maps\.json: cannot be written: No space left"):
        write_maps(made_up(), path)
    assert path.read_text() == "old"
