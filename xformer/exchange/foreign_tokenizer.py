"""A `tokenizer.json` of another program as one of ours: the same cuts, ids in our order, no special text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers

from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer
from xformer.errors import UserError
from xformer.exchange.folder import read_object
from xformer.exchange.rows import Rows

_SENTENCEPIECE = ("sentencepiece.bpe.model", "spiece.model")


class ForeignTokenizer:
    """A byte-level BPE tokenizer in the format of the `tokenizers` library, with ids of its own."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError for a folder without `tokenizer.json`, or for one of another kind."""
        self.path = folder / "tokenizer.json"
        if not self.path.is_file():
            found = [name for name in _SENTENCEPIECE if (folder / name).is_file()]
            has = f"; it has {' and '.join(found)}, which xformer does not read" if found else ""
            raise UserError(
                f"{folder}: lacks tokenizer.json, a byte-level BPE tokenizer, "
                f"or source.spm, target.spm and vocab.json{has}"
            )
        self._values = read_object(self.path)
        model = self._values.get("model")
        if not isinstance(model, dict) or model.get("type") != "BPE" or not self._bytes():
            kind = model.get("type") if isinstance(model, dict) else None
            raise UserError(
                f"{self.path}: is a tokenizer of the kind {kind}; only byte-level BPE can be imported"
            )
        added = self._values.get("added_tokens") or []
        if plain := [each["content"] for each in added if not each.get("special")]:
            raise UserError(f"{self.path}: has the added words {', '.join(plain)}, which cannot be imported")
        self._model = model
        self.names: dict[int, str] = {token: name for name, token in model["vocab"].items()}
        self.names |= {each["id"]: each["content"] for each in added}

    def _bytes(self) -> bool:
        """Whether text is cut into bytes and put together from them."""
        places = (self._values.get("pre_tokenizer"), self._values.get("decoder"))
        return all('"ByteLevel"' in json.dumps(place) for place in places)

    def unknown(self, folder: Path) -> int | None:
        """The id of the unknown token, which a tokenizer of bytes need not have."""
        path = folder / "tokenizer_config.json"
        name: Any = read_object(path).get("unk_token") if path.is_file() else self._model.get("unk_token")
        name = name.get("content") if isinstance(name, dict) else name
        return next((token for token, each in self.names.items() if each == name), None)

    def check_size(self, vocabulary: int) -> None:
        """Raise UserError unless the model has one row for each token."""
        if sorted(self.names) != list(range(vocabulary)):
            raise UserError(
                f"{self.path}: has {len(self.names)} tokens with ids up to {max(self.names, default=0)}, "
                f"the model has {vocabulary}; only a model with one row for each can be imported"
            )

    def arranged(self, rows: Rows) -> Tokenizer:
        """One of ours, its ids as `rows` says."""
        names = [self.names[old] for old in rows.old]
        vocabulary = {CONTROL_NAMES.get(token, name): token for token, name in enumerate(names)}
        model = self._model | {"vocab": vocabulary, "unk_token": None}
        values = self._values | {
            "model": model,
            "added_tokens": [],
            "post_processor": None,
            "truncation": None,
            "padding": None,
        }
        try:
            tokenizer = Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(values)))
            for token in range(len(names)):
                tokenizer.piece(token)
        except KeyError as error:
            raise UserError(f"{self.path}: a token has {error}, which stands for no byte") from None
        except Exception as error:  # the library raises bare Exception
            raise UserError(f"{self.path}: cannot be read: {error}") from None
        return tokenizer
