"""Messages written by hand: settings that would cut otherwise are refused by name, torn bytes as such."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from xformer.errors import UserError
from xformer.exchange.sentencepiece import read_sentencepiece


def number(field: int, value: int) -> bytes:
    """A whole number below 128 as a field of a number below 2048."""
    tag = field << 3
    head = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])
    return head + bytes([value])


def message(field: int, content: bytes) -> bytes:
    """Bytes as a field."""
    return bytes([field << 3 | 2, len(content)]) + content


def piece(text: str, score: float, kind: int = 1) -> bytes:
    return message(1, message(1, text.encode()) + b"\x15" + struct.pack("<f", score) + number(3, kind))


PIECES = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("▁a", -1.5) + piece("b", -2) + piece("c", -2, 5)
TRAINER, NORMALISER = message(2, number(3, 1)), message(3, message(1, b"identity"))
WHOLE = PIECES + TRAINER + NORMALISER


def read(folder: Path, content: bytes) -> dict[str, float]:
    path = folder / "source.spm"
    path.write_bytes(content)
    return dict(read_sentencepiece(path).pieces)


def test_only_pieces_that_text_is_cut_into_are_taken(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE) == {"▁a": -1.5, "b": -2.0}
    assert read(tmp_path, WHOLE + message(4, b"of no use")) == {"▁a": -1.5, "b": -2.0}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (message(2, number(3, 2)), "is a SentencePiece model of the kind BPE; only unigram"),
        (message(2, number(3, 4)), "of the kind char"),
        (message(2, number(35, 1)), "has byte_fallback true; only false can be imported"),
        (message(2, number(24, 1)), "has treat_whitespace_as_suffix true"),
        (message(3, number(3, 0)), "has add_dummy_prefix false; only true can be imported"),
        (message(3, number(4, 0)), "has remove_extra_whitespaces false"),
        (message(3, number(5, 0)), "has escape_whitespaces false"),
        (message(5, message(2, b"x")), "replaces characters of its output"),
        (piece("<sep>", 0, 4), "has the user-defined piece <sep>"),
        (piece("<0x41>", 0, 6), "has the byte piece <0x41>"),
        (piece("d", float("nan")), "torn one: a piece has the score nan"),
        (piece("d", 0)[:-1], "torn one: it ends within a field"),
        (b"\x0b", "torn one: a field has the wire type 3"),
        (b"\xff" * 12, "torn one: it ends within a number"),
        (message(3, message(2, b"\x40\0\0\0")), "torn one: its map of characters is torn"),
        (number(2, 1), "torn one: a number stands where text is expected"),
        (message(1, message(1, b"\xff")), "torn one: "),
    ],
)
def test_what_would_be_cut_otherwise_or_is_torn_is_refused(tmp_path: Path, more: bytes, told: str) -> None:
    with pytest.raises(UserError, match=r"source\.spm: ") as refusal:
        read(tmp_path, WHOLE + more)
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("content", [b"", PIECES, PIECES + TRAINER, TRAINER + NORMALISER, b"no model at all"])
def test_a_file_without_pieces_or_settings_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UserError, match="no SentencePiece model, or a torn one"):
        read(tmp_path, content)


def test_any_torn_model_is_read_as_one_or_refused(tmp_path: Path) -> None:
    for size in range(len(WHOLE)):
        with pytest.raises(UserError, match="no SentencePiece model"):
            read(tmp_path, WHOLE[:size])
