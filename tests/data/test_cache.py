"""A cached folder is whole or not there, whoever is killed or disturbed while making it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from xformer.data.cache import build_once, file_digest, key
from xformer.errors import UserError


def is_complete(folder: Path) -> bool:
    return (folder / "text").is_file()


def test_a_complete_folder_is_not_built_again(tmp_path: Path) -> None:
    built = []

    def build(work: Path) -> None:
        built.append(work)
        (work / "text").write_text("done", encoding="utf-8")

    for _ in range(2):
        build_once(tmp_path / "a" / "folder", is_complete, build)
    assert len(built) == 1
    assert (tmp_path / "a" / "folder" / "text").read_text(encoding="utf-8") == "done"


def test_a_build_that_fails_leaves_nothing_and_the_next_one_succeeds(tmp_path: Path) -> None:
    folder = tmp_path / "folder"

    def fail(work: Path) -> None:
        (work / "half").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_once(folder, is_complete, fail)
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == []
    build_once(folder, is_complete, lambda work: (work / "text").touch())
    assert is_complete(folder)


def test_a_torn_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "half").touch()
    build_once(folder, is_complete, lambda work: (work / "text").touch())
    assert [path.name for path in folder.iterdir()] == ["text"]


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".folder.abc.partial").mkdir()
    (tmp_path / ".folder.abc.partial" / "half").touch()
    (tmp_path / ".other.abc.partial").mkdir()
    build_once(tmp_path / "folder", is_complete, lambda work: (work / "text").touch())
    assert sorted(path.name for path in tmp_path.glob("*.partial")) == [".other.abc.partial"]


def test_one_builds_while_the_others_wait(tmp_path: Path) -> None:
    built = []

    def build(work: Path) -> None:
        built.append(work)
        threading.Event().wait(0.2)
        (work / "text").touch()

    threads = [
        threading.Thread(target=build_once, args=(tmp_path / "f", is_complete, build)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert not any(thread.is_alive() for thread in threads)
    assert len(built) == 1


def test_a_cache_that_cannot_be_written_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cache_dir: cannot write .*file"):
        build_once(tmp_path / "file" / "folder", is_complete, lambda work: None)


def test_a_full_disk_is_the_users_to_mend_and_leaves_nothing(tmp_path: Path) -> None:
    def build(work: Path) -> None:
        raise OSError(28, "No space left on device", str(work / "ids"))

    with pytest.raises(UserError, match="No space left on device"):
        build_once(tmp_path / "folder", is_complete, build)
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == []


def test_keys_follow_every_part() -> None:
    assert key("a", {"x": 1, "y": 2}) == key("a", {"y": 2, "x": 1})
    assert len({key("a", 1), key("a", 2), key("b", 1), key("a1"), key("a", "1")}) == 5


def test_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert file_digest(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
