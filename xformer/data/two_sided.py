"""A tokenizer that cuts sources in one way and targets in another, with one vocabulary of ids for both.

Models of other programs come with such a pair; those that are trained here share one (`tokenizer`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import tokenizers
from tokenizers import decoders, models

from xformer.data.character_map import CharacterMap
from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer
from xformer.data.unigram import SPACE, Unigram
from xformer.data.vocabulary import UNK

FORMAT = "two sides"


class TwoSided(Tokenizer):
    """Cuts lines into pieces of one side, and finds their ids among the names that both share.

    A piece without an id is UNK. Unlike bytes, pieces do not give every line back as it was.
    """

    def __init__(self, names: Sequence[str], source: Unigram, target: Unigram) -> None:
        """`names` by id, the control tokens first. Raises ValueError where they are not, or for one twice."""
        ids = {name: token for token, name in enumerate(names)}
        if len(ids) != len(names) or any(names[token] != name for token, name in CONTROL_NAMES.items()):
            raise ValueError(
                "the names do not begin with xformer's control tokens, or one stands there twice"
            )
        engine = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=CONTROL_NAMES[UNK]))
        engine.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.Fuse()])
        super().__init__(engine)
        self._sides = {"source": source, "target": target}
        self._ids = {name: token for name, token in ids.items() if token not in CONTROL_NAMES}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the names and of how both sides are cut."""
        return hashlib.sha256(json.dumps(self._values(), sort_keys=True).encode()).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each source, without BOS or EOS."""
        return self._encode(self._sides["source"], lines)

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each target, without BOS or EOS."""
        return self._encode(self._sides["target"], lines)

    def decode(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """The text of each id sequence; control tokens say nothing."""
        return [text.strip() for text in super().decode(sequences)]

    def piece(self, token: int) -> bytes:
        """The text that a token stands for, in UTF-8; none for a control token."""
        if not 0 <= token < self.vocabulary:
            raise IndexError(f"no token has the id {token}")
        name = "" if token in CONTROL_NAMES else str(self._engine.id_to_token(token))
        return name.replace(SPACE, " ").encode()

    def to_json(self) -> str:
        """What `read` reads; the `tokenizers` library has no word for two sides."""
        return json.dumps({"xformer": FORMAT} | self._values(), ensure_ascii=False)

    @classmethod
    def read(cls, values: dict[str, Any]) -> TwoSided:
        """From the object in a file; raises ValueError, TypeError or KeyError for one that is damaged."""
        source, target = (
            Unigram(
                {str(piece): float(score) for piece, score in side["pieces"].items()},
                CharacterMap(base64.b64decode(side["characters"], validate=True)),
            )
            for side in (values["source"], values["target"])
        )
        return cls(values["names"], source, target)

    def _encode(self, side: Unigram, lines: Sequence[str]) -> list[list[int]]:
        parts = [_language(line) for line in lines]
        codes = [[self._ids.get(code, UNK)] if code else [] for code, _ in parts]
        cut = side.cut([text for _, text in parts])
        return [
            code + [self._ids.get(piece, UNK) for piece in pieces]
            for code, pieces in zip(codes, cut, strict=True)
        ]

    def _values(self) -> dict[str, Any]:
        sides = {
            name: {
                "pieces": dict(side.pieces),
                "characters": base64.b64encode(side.characters.packed).decode(),
            }
            for name, side in self._sides.items()
        }
        return {"names": self.names()} | sides


def _language(line: str) -> tuple[str, str]:
    """The code `>>fra<<` that a line for a model of many languages begins with, and what follows it."""
    end = line.find("<<") + 2
    return (line[:end], line[end:]) if line.startswith(">>") and end >= 2 else ("", line)
