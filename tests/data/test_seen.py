"""A file is read whole once, and again as soon as it may have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xformer.data import seen


class Reader:
    """Reads a file's text, and counts how often."""

    def __init__(self) -> None:
        self.__qualname__ = "Reader"  # as a function has one
        self.times = 0

    def __call__(self, path: Path) -> str:
        self.times += 1
        return path.read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("one")
    return path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the file had been left alone for long."""
    monkeypatch.setattr(seen, "_SETTLED", 0.0)


@pytest.mark.usefixtures("settled")
def test_a_file_that_stays_the_same_is_read_once(file: Path, tmp_path: Path) -> None:
    read = Reader()
    assert [seen.once(read, file, tmp_path / "memory") for _ in range(3)] == ["one"] * 3
    assert read.times == 1


@pytest.mark.usefixtures("settled")
def test_what_was_changed_is_read_again_though_size_and_time_were_put_back(
    file: Path, tmp_path: Path
) -> None:
    read = Reader()
    seen.once(read, file, tmp_path / "memory")
    before = file.stat()
    with file.open("r+") as same:  # in place: the same inode
        same.write("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert seen.once(read, file, tmp_path / "memory") == "two"


@pytest.mark.usefixtures("settled")
def test_another_file_in_its_place_is_read(file: Path, tmp_path: Path) -> None:
    read = Reader()
    seen.once(read, file, tmp_path / "memory")
    (tmp_path / "other").write_text("six")
    os.replace(tmp_path / "other", file)
    assert seen.once(read, file, tmp_path / "memory") == "six"


def test_a_file_touched_a_moment_ago_is_not_remembered(file: Path, tmp_path: Path) -> None:
    read = Reader()
    for _ in range(2):
        seen.once(read, file, tmp_path / "memory")
    assert read.times == 2


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("damage", [b"", b"[1]", b"{}", b"\xff\x00", b'{"stamp": 1}'])
def test_a_damaged_memory_costs_only_time(file: Path, tmp_path: Path, damage: bytes) -> None:
    read = Reader()
    memory = tmp_path / "memory"
    seen.once(read, file, memory)
    (note,) = memory.iterdir()
    note.write_bytes(damage)
    assert seen.once(read, file, memory) == "one"
    assert read.times == 2


@pytest.mark.usefixtures("settled")
def test_a_memory_that_cannot_be_written_costs_only_time(file: Path, tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file stands here")
    assert seen.once(Reader(), file, tmp_path / "memory") == "one"
