"""Lines in and out of a command: nothing waits that need not, nothing is half written."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from xformer.errors import UserError
from xformer.runs.lines import FIRST_WINDOW, _arriving, opened_output, windows

Pipe = tuple[IO[bytes], IO[bytes]]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Both ends of a pipe, unbuffered."""
    read, write = os.pipe()
    with open(read, "rb", buffering=0) as reader, open(write, "wb", buffering=0) as writer:
        yield reader, writer


def test_a_line_is_there_before_the_next_is_written(pipe: Pipe) -> None:
    read, write = pipe
    lines = _arriving(read.fileno(), first=8)
    write.write(b"one\n")
    assert next(lines) == ["one"]
    write.write(b"two\r\nthree\nhalf of")
    assert next(lines) == ["two", "three"]
    write.write(b" four\n\n")
    assert next(lines) == ["half of four", ""]
    write.close()
    assert list(lines) == []


def test_windows_grow_while_the_input_keeps_up(pipe: Pipe) -> None:
    read, write = pipe
    write.write(b"".join(b"%d\n" % n for n in range(50)))
    write.close()
    found = list(_arriving(read.fileno(), first=4))
    assert [len(window) for window in found] == [4, 8, 16, 22]
    assert [line for window in found for line in window] == [str(n) for n in range(50)]


def test_only_lf_ends_a_line_and_the_last_may_lack_it(pipe: Pipe) -> None:
    read, write = pipe
    text = "a\u2028b\x85c\x0bd\re\n\nlast"
    write.write(text.encode())
    write.close()
    assert [line for window in _arriving(read.fileno(), first=8) for line in window] == text.split("\n")


def test_an_empty_pipe_has_no_lines(pipe: Pipe) -> None:
    read, write = pipe
    write.close()
    assert list(_arriving(read.fileno(), first=8)) == []


def test_bad_utf_8_is_named_by_its_line(pipe: Pipe) -> None:
    read, write = pipe
    write.write(b"good\n\xff\n")
    write.close()
    with pytest.raises(UserError, match="standard input, line 2: not UTF-8"):
        list(_arriving(read.fileno(), first=1))


def test_standard_input_that_is_a_file_comes_in_large_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_text("line\n" * (FIRST_WINDOW + 10))
    with (tmp_path / "x").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert [len(window) for window in windows(None)] == [FIRST_WINDOW + 10]


@pytest.mark.parametrize("name", ["x", "x.gz"])
def test_files_are_read_and_written_plain_or_compressed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for _ in range(2):  # over what is there
        with opened_output(path) as out:
            out.write("größer\nlast\n".encode())
    assert [line for window in windows(path) for line in window] == ["größer", "last"]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == (path.suffix == ".gz")


def test_the_same_text_compresses_to_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with opened_output(tmp_path / name) as out:
            out.write(b"text\n")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text\n"


@pytest.mark.parametrize("name", ["x", "x.gz"])
def test_an_interruption_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")

    def interrupted() -> None:
        with opened_output(tmp_path / name) as out:
            out.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / name).read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_device_is_written_to_and_not_replaced() -> None:
    with opened_output(Path(os.devnull)) as out:
        out.write(b"gone")
    assert Path(os.devnull).is_char_device()


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="nowhere/x: cannot be written"),
        opened_output(tmp_path / "nowhere/x"),
    ):
        pass


def test_a_closed_standard_input_or_output_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`<&-` and `>&-`: Python then has None in their place."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="standard input: is closed; give --input FILE"):
        list(windows(None))
    monkeypatch.setattr(sys, "stdout", None)
    with (
        pytest.raises(UserError, match="standard output: is closed; give --output FILE"),
        opened_output(None),
    ):
        pass
