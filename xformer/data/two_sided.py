"""A tokenizer that cuts sources in one way and targets in another, with one vocabulary of ids for both.

Models of other programs come with such a pair of SentencePiece models; those that are trained here share
one tokenizer (`tokenizer`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import tokenizers
from sentencepiece import SentencePieceProcessor
from tokenizers import models

from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer
from xformer.data.vocabulary import UNK

FORMAT = "two sides"

_SPACE = "▁"


def sentencepiece_of(model: bytes) -> SentencePieceProcessor:
    """The way to cut that the bytes of a `.spm` file describe; raises ValueError for any others."""
    processor = SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError:  # whose text names a line of the library's source
        raise ValueError("is no SentencePiece model, or a torn one") from None
    return processor


class TwoSided(Tokenizer):
    """Cuts lines into pieces of one side, and finds their ids among the names that both share.

    A piece without an id is UNK. Unlike bytes, pieces do not give every line back as it was.
    """

    def __init__(
        self, names: Sequence[str], source: SentencePieceProcessor, target: SentencePieceProcessor
    ) -> None:
        """`names` by id, the control tokens first. Raises ValueError where they are not, or for one twice."""
        ids = {name: token for token, name in enumerate(names)}
        if len(ids) != len(names) or any(names[token] != name for token, name in CONTROL_NAMES.items()):
            raise ValueError(
                "the names do not begin with xformer's control tokens, or one stands there twice"
            )
        super().__init__(tokenizers.Tokenizer(models.WordLevel(ids, unk_token=CONTROL_NAMES[UNK])))
        self._source, self._target = source, target
        self._ids = {name: token for name, token in ids.items() if token not in CONTROL_NAMES}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the names and of how both sides are cut."""
        return hashlib.sha256(json.dumps(self._values(), sort_keys=True).encode()).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each source, without BOS or EOS."""
        return self._encode(self._source, lines)

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each target, without BOS or EOS."""
        return self._encode(self._target, lines)

    def decode(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """The text of each id sequence as the target's model puts it together; control tokens say nothing."""
        kept = [[token for token in map(int, ids) if token not in CONTROL_NAMES] for ids in sequences]
        pieces = [[str(self._engine.id_to_token(token)) for token in ids] for ids in kept]
        texts: list[str] = self._target.decode_pieces(pieces)
        return [text.replace(_SPACE, " ").strip() for text in texts]  # a piece of the source is left as it is

    def piece(self, token: int) -> bytes:
        """What a token stands for: text in UTF-8, or one byte; nothing for a control token."""
        if not 0 <= token < self.vocabulary:
            raise IndexError(f"no token has the id {token}")
        name = "" if token in CONTROL_NAMES else str(self._engine.id_to_token(token))
        if any(side.is_byte(side.piece_to_id(name)) for side in (self._source, self._target)):
            return bytes.fromhex(name.removeprefix("<0x").removesuffix(">"))
        return name.replace(_SPACE, " ").encode()

    def to_json(self) -> str:
        """What `read` reads; the `tokenizers` library has no word for two sides."""
        return json.dumps({"xformer": FORMAT} | self._values(), ensure_ascii=False)

    @classmethod
    def read(cls, values: dict[str, Any]) -> TwoSided:
        """From the object in a file; raises ValueError, TypeError or KeyError for one that is damaged."""
        source, target = (
            sentencepiece_of(base64.b64decode(values[side], validate=True)) for side in ("source", "target")
        )
        return cls(values["names"], source, target)

    def _encode(self, side: SentencePieceProcessor, lines: Sequence[str]) -> list[list[int]]:
        parts = [_language(line) for line in lines]
        codes = [[self._ids.get(code, UNK)] if code else [] for code, _ in parts]
        cut = side.encode([text for _, text in parts], out_type=str)
        return [
            code + [self._ids.get(piece, UNK) for piece in pieces]
            for code, pieces in zip(codes, cut, strict=True)
        ]

    def _values(self) -> dict[str, Any]:
        sides = {"source": self._source, "target": self._target}
        packed = {
            name: base64.b64encode(side.serialized_model_proto()).decode() for name, side in sides.items()
        }
        return {"names": self.names()} | packed


def _language(line: str) -> tuple[str, str]:
    """The code `>>fra<<` that a line for a model of many languages begins with, and what follows it."""
    end = line.find("<<") + 2
    return (line[:end], line[end:]) if line.startswith(">>") and end >= 2 else ("", line)
