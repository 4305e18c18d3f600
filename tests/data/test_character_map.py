"""The longest key at each place is replaced, in a map packed by hand."""

from __future__ import annotations

import struct

import pytest

from xformer.data.character_map import CharacterMap


def packed(texts: dict[str, str]) -> bytes:
    """A double array of the keys: each unit's children at the first offset where all of them fit."""
    units: dict[int, int] = {0: 0}
    ends = b"\0"  # of an empty text, at 0

    def place(at: int, keys: dict[bytes, str]) -> None:
        nonlocal ends
        heads = {key[:1] or b"\0" for key in keys}
        offset = next(o for o in range(1, 1 << 20) if all(at ^ o ^ head[0] not in units for head in heads))
        units[at] |= offset << 10 | (256 if b"" in keys else 0)
        for head in heads:
            units[at ^ offset ^ head[0]] = head[0]
        for head in sorted(heads):
            child = at ^ offset ^ head[0]
            if head == b"\0":
                units[child] = 1 << 31 | len(ends)
                ends += keys[b""].encode() + b"\0"
            else:
                place(child, {key[1:]: text for key, text in keys.items() if key[:1] == head})

    place(0, {key.encode(): text for key, text in texts.items()})
    array = [units.get(at, 0) for at in range(max(units) + 1)]
    return struct.pack("<I", 4 * len(array)) + struct.pack(f"<{len(array)}I", *array) + ends


TEXTS = {"ﬁ": "fi", "e\u0301": "é", "e\u0301\u0302x": "!", "\t": " ", "½": "1⁄2", "\u200b": "", "A": "a"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        ("A\tplain line", "a plain line"),
        ("ﬁne ½", "fine 1⁄2"),
        ("e\u0301", "é"),
        ("e", "e"),
        ("e\u0301\u0302", "é\u0302"),  # the longest key that is there whole
        ("e\u0301\u0302x", "!"),
        ("e\u0302\u0301", "e\u0302\u0301"),
        ("a\u200bb\u200b", "ab"),
        ("\x00日本", "\x00日本"),
    ],
)
def test_the_longest_key_at_each_place_is_replaced(line: str, expected: str) -> None:
    assert CharacterMap(packed(TEXTS)).replace(line) == expected


def test_a_key_that_goes_on_in_ascii_is_found_in_ascii() -> None:
    assert CharacterMap(packed({"...": "…", "a": "b"})).replace("a.. a...") == "b.. b…"


def test_no_map_changes_nothing() -> None:
    assert CharacterMap(b"").replace("ﬁ\t") == "ﬁ\t"


@pytest.mark.parametrize("size", [1, 4, 20, 100])
def test_a_torn_map_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="torn"):
        CharacterMap(packed(TEXTS)[:size])
