"""What is stored is what was encoded, and a store that is not whole is known for it."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from xformer.data.store import Pair, ParallelStore, is_intact, read_notes, read_store, write_store

PAIRS: list[Pair] = [([5, 6, 7], [8]), ([9], [10, 11]), ([], [12]), ([13, 14], [])]


def write(folder: Path, pairs: list[Pair], vocabulary: int = 300) -> None:
    folder.mkdir(exist_ok=True)
    write_store(folder, [pairs[:2], [], pairs[2:]], vocabulary, {"blank": 3})


def content(store: ParallelStore) -> list[Pair]:
    return [(store.source(i).tolist(), store.target(i).tolist()) for i in range(len(store))]


def test_pairs_come_back_in_order_with_their_lengths_eos_counted(tmp_path: Path) -> None:
    write(tmp_path, PAIRS)
    for store in (read_store(tmp_path), ParallelStore.from_pairs(PAIRS, 300)):
        assert content(store) == PAIRS
        assert store.source_lengths.tolist() == [4, 2, 1, 3]
        assert store.target_lengths.tolist() == [2, 3, 2, 1]
        assert store.source_lengths.dtype == store.target_lengths.dtype == np.int32
    assert read_notes(tmp_path) == {"blank": 3}


sides = st.lists(st.integers(0, 65_535), max_size=4)


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(sides, sides), max_size=6))
def test_any_pairs_come_back(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> None:
    folder = tmp_path_factory.mktemp("store")
    write(folder, pairs, vocabulary=65_536)
    assert content(read_store(folder)) == pairs
    assert content(ParallelStore.from_pairs(pairs, 65_536)) == pairs


@pytest.mark.parametrize(("vocabulary", "bytes_an_id"), [(65_536, 2), (65_537, 4)])
def test_an_id_takes_two_bytes_where_they_suffice(tmp_path: Path, vocabulary: int, bytes_an_id: int) -> None:
    pairs: list[Pair] = [([vocabulary - 1], [4]), ([4], [vocabulary - 1])]
    write(tmp_path, pairs, vocabulary)
    assert (tmp_path / "source.ids").stat().st_size == 2 * bytes_an_id
    assert content(read_store(tmp_path)) == pairs


def test_sentences_outside_the_store_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, PAIRS)
    for i in (-1, 4):
        with pytest.raises(IndexError):
            read_store(tmp_path).source(i)


def test_a_store_can_be_sent_to_another_process(tmp_path: Path) -> None:
    write(tmp_path, PAIRS)
    assert content(pickle.loads(pickle.dumps(read_store(tmp_path)))) == PAIRS


def test_a_whole_store_is_intact(tmp_path: Path) -> None:
    write(tmp_path, PAIRS)
    assert is_intact(tmp_path, tmp_path / "seen")


@pytest.mark.parametrize(
    "name", ["source.ids", "source.offsets", "target.ids", "target.offsets", "header.json"]
)
@pytest.mark.parametrize("harm", ["delete", "truncate", "alter", "extend", "zero"])
def test_a_store_that_was_torn_or_altered_is_not_intact(tmp_path: Path, name: str, harm: str) -> None:
    write(tmp_path, PAIRS)
    path = tmp_path / name
    data = path.read_bytes()
    if harm == "delete":
        path.unlink()
    else:
        harmed = {
            "truncate": data[:-3],
            "alter": data[:1] + bytes([data[1] ^ 1]) + data[2:],
            "extend": data + b"\x07",
            "zero": bytes(len(data)),
        }
        path.write_bytes(harmed[harm])
    assert not is_intact(tmp_path, tmp_path / "seen")


def test_a_store_of_an_older_format_is_not_intact(tmp_path: Path) -> None:
    write(tmp_path, PAIRS)
    header = tmp_path / "header.json"
    header.write_text(
        header.read_text(encoding="utf-8").replace('"format": 1', '"format": 0'), encoding="utf-8"
    )
    assert not is_intact(tmp_path, tmp_path / "seen")


@pytest.mark.parametrize("text", ["[]", "{}", "null", '{"format": 1}', '{"format": 1, "digests": []}'])
def test_a_header_that_says_something_else_is_not_intact(tmp_path: Path, text: str) -> None:
    write(tmp_path, PAIRS)
    (tmp_path / "header.json").write_text(text, encoding="utf-8")
    assert not is_intact(tmp_path, tmp_path / "seen")
