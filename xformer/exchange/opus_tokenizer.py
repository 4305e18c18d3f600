"""The tokenizer of a published opus-mt model: SentencePiece for each side, one list of ids for both.

A line is cut by its side's model, and `vocab.json` has the id of each piece; one that it lacks is unknown.
"""

from __future__ import annotations

from pathlib import Path

from sentencepiece import SentencePieceProcessor

from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer
from xformer.data.two_sided import TwoSided, sentencepiece_of
from xformer.data.vocabulary import EOS
from xformer.errors import UserError
from xformer.exchange.folder import read_object
from xformer.exchange.rows import Rows

SIDES = ("source.spm", "target.spm")

_CONTROLS = {"eos_token": "</s>", "unk_token": "<unk>"}
"""By key of `tokenizer_config.json`: the name where it says nothing."""


class OpusTokenizer:
    """`source.spm`, `target.spm` and `vocab.json`; `tokenizer_config.json` may rename the control tokens."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError where a file is missing, damaged or of another kind."""
        self.path = folder / "vocab.json"
        for name in (*SIDES, self.path.name):
            if not (folder / name).is_file():
                raise UserError(
                    f"{folder}: lacks {name}; {' and '.join(SIDES)} are read with vocab.json only"
                )
        settings = folder / "tokenizer_config.json"
        self._settings = read_object(settings) if settings.is_file() else {}
        if self._settings.get("separate_vocabs"):
            raise UserError(
                f"{settings}: separate_vocabs is true; only one vocabulary for both sides can be imported"
            )
        self._ids = self._read_ids()
        self._end, self._unknown = (self._control(key, name) for key, name in _CONTROLS.items())
        self._source, self._target = (_side(folder / name) for name in SIDES)

    def unknown(self, folder: Path) -> int | None:
        """The id of the unknown token."""
        return self._unknown

    def check_size(self, vocabulary: int) -> None:
        """Raise UserError unless the model has one row for each id."""
        if sorted(self._ids.values()) != list(range(vocabulary)):
            raise UserError(
                f"{self.path}: has {len(self._ids)} tokens with ids up to {max(self._ids.values())}, "
                f"the model has {vocabulary}; only a model with one row for each can be imported"
            )

    def arranged(self, rows: Rows) -> Tokenizer:
        """One of ours, its ids as `rows` says. Raises UserError where the model ends with another token."""
        if rows.old[EOS] != self._end:
            raise UserError(
                f"{self.path}: the end has the id {self._end}, "
                f"but eos_token_id of the model is {rows.old[EOS]}"
            )
        names = {token: name for name, token in self._ids.items()}
        ours = [CONTROL_NAMES.get(token, names[old]) for token, old in enumerate(rows.old)]
        try:
            return TwoSided(ours, self._source, self._target)
        except ValueError as error:
            raise UserError(f"{self.path}: {error}") from None

    def _read_ids(self) -> dict[str, int]:
        ids = read_object(self.path)
        for name, token in ids.items():
            if not isinstance(token, int) or isinstance(token, bool):
                raise UserError(f"{self.path}: {name!r} has the id {token!r}, which is no whole number")
        return ids

    def _control(self, key: str, usual: str) -> int:
        name = self._settings.get(key, usual)
        name = name.get("content") if isinstance(name, dict) else name
        if name not in self._ids:
            raise UserError(f"{self.path}: lacks {name}, the model's {key}")
        return self._ids[name]


def _side(path: Path) -> SentencePieceProcessor:
    try:
        return sentencepiece_of(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
