"""A SentencePiece model read from its file, with no other library: a message of Protocol Buffers.

Field numbers are those of `sentencepiece_model.proto`. Only unigram models at the settings that
SentencePiece trains with by itself are read; any other is refused by name.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path

from xformer.data.character_map import CharacterMap
from xformer.data.unigram import Unigram
from xformer.errors import UserError

_KINDS = {1: "unigram", 2: "BPE", 3: "word", 4: "char"}
_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6  # types of pieces; the others are never cut from a text

Field = tuple[int, int | bytes]


def read_sentencepiece(path: Path) -> Unigram:
    """The way to cut that a `.spm` file describes; raises UserError for a torn one or one of another kind."""
    try:
        model = list(_fields(path.read_bytes()))
        trainer, normaliser, output = (dict(_fields(_message(model, number))) for number in (2, 3, 5))
        if not trainer or not normaliser:
            raise ValueError("its settings are missing")
        pieces = [_piece(dict(_fields(value))) for number, value in model if number == 1]
        _check_settings(trainer, normaliser, path)
        if output.get(2):
            raise UserError(f"{path}: replaces characters of its output too, which cannot be imported")
        return Unigram(_known(pieces, path), CharacterMap(_bytes(normaliser.get(2, b""))))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, struct.error) as error:
        raise UserError(f"{path}: is no SentencePiece model, or a torn one: {error}") from None


def _check_settings(trainer: dict[int, int | bytes], normaliser: dict[int, int | bytes], path: Path) -> None:
    kind = trainer.get(3, 1)
    if kind != 1:
        name = _KINDS.get(kind, str(kind)) if isinstance(kind, int) else "unknown"
        raise UserError(f"{path}: is a SentencePiece model of the kind {name}; only unigram can be imported")
    for values, number, name, usual in (
        (trainer, 24, "treat_whitespace_as_suffix", 0),
        (trainer, 35, "byte_fallback", 0),
        (normaliser, 3, "add_dummy_prefix", 1),
        (normaliser, 4, "remove_extra_whitespaces", 1),
        (normaliser, 5, "escape_whitespaces", 1),
    ):
        if values.get(number, usual) != usual:
            said = [str(bool(value)).lower() for value in (values[number], usual)]
            raise UserError(f"{path}: has {name} {said[0]}; only {said[1]} can be imported")


def _known(pieces: list[tuple[str, float, int]], path: Path) -> dict[str, float]:
    for kind, name in ((_USER_DEFINED, "user-defined"), (_BYTE, "byte")):
        if found := [piece for piece, _, each in pieces if each == kind]:
            raise UserError(f"{path}: has the {name} piece {found[0]}, which cannot be imported")
    known = {piece: score for piece, score, kind in pieces if kind == _NORMAL}
    if not known:
        raise ValueError("it has no pieces")
    return known


def _piece(values: dict[int, int | bytes]) -> tuple[str, float, int]:
    """Text, log-probability and type."""
    (score,) = struct.unpack("<f", _bytes(values.get(2, bytes(4))))
    kind = values.get(3, _NORMAL)
    if not math.isfinite(score) or not isinstance(kind, int):
        raise ValueError(f"a piece has the score {score}, the type {kind!r}")
    return _bytes(values.get(1, b"")).decode(), score, kind


def _message(fields: list[Field], number: int) -> bytes:
    """All parts of the message within, which stand for one when they are joined."""
    return b"".join(_bytes(value) for each, value in fields if each == number)


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number stands where text is expected")
    return value


def _fields(data: int | bytes) -> Iterator[Field]:
    """Number and value of each field: whole numbers as such, all else as bytes."""
    data, at = _bytes(data), 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if wire == 2:
            length, at = _varint(data, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"a field has the wire type {wire}")
        if at + length > len(data):
            raise ValueError("it ends within a field")
        yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number, seven bits a byte, and where it ends."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("it ends within a number")
