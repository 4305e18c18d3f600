"""The most probable pieces, as sums worked out by hand say."""

from __future__ import annotations

import pytest

from xformer.data.character_map import CharacterMap
from xformer.data.unigram import Unigram

PLAIN = CharacterMap(b"")


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("ab", ["▁", "ab"]),  # -1 - 3, against -1 - 2 - 2.5
        ("abab", ["▁", "ab", "ab"]),
        ("ba", ["▁", "b", "a"]),
        ("  ab   b ", ["▁", "ab", "▁", "b"]),
        ("xyab", ["▁", "xy", "ab"]),  # neighbours without a piece are one
        ("x y", ["▁", "x", "▁", "y"]),
        ("aaa", ["▁", "a", "aa"]),  # as probable as aa, a: the longer last piece is found first
        ("", []),
        (" ", []),
        ("▁ ", []),
    ],
)
def test_the_pieces_have_the_greatest_sum(line: str, pieces: list[str]) -> None:
    side = Unigram({"▁": -1.0, "a": -2.0, "b": -2.5, "ab": -3.0, "aa": -3.0}, PLAIN)
    assert side.cut([line, line]) == [pieces, pieces]


def test_a_piece_is_taken_only_whole() -> None:
    side = Unigram({"▁": -1.0, "abc": -2.0, "a": -3.0}, PLAIN)
    assert side.cut(["ab", "abc"]) == [["▁", "a", "b"], ["▁", "abc"]]
