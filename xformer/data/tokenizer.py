"""Byte-level BPE shared by source and target, with control tokens that no text can reach.

Section 5.1 of the paper: byte-pair encoding with one vocabulary for both sides. On bytes instead of
characters, so that every Unicode line has an encoding and comes back as it was (decision 12).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.errors import UserError
from xformer.files import write_atomic

# Names for the ids 0 to 3. Their brackets lie outside the 256 characters that stand for bytes,
# so no merge can ever spell one.
CONTROL_NAMES = {PAD: "⟨pad⟩", BOS: "⟨bos⟩", EOS: "⟨eos⟩", UNK: "⟨unk⟩"}
SMALLEST_VOCABULARY = len(CONTROL_NAMES) + 256

# Byte-level pieces are written with one printable character a byte: a byte that is printable in Latin-1
# stands for itself, the others follow from U+0100 on, in order (the soft hyphen, 0xAD, is invisible).
_PRINTABLE = [byte for byte in range(256) if chr(byte).isprintable() and byte not in (0x20, 0xAD)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_BYTE_OF = {chr(byte): byte for byte in _PRINTABLE} | {chr(256 + n): byte for n, byte in enumerate(_OTHERS)}

_MIN_FREQUENCY = 2  # a pair seen once is no statistics
_LINES_AT_ONCE = 16_384  # bounds the library's own 1.7 KB a line while encoding


class Tokenizer:
    """Text to ids and back; sources and targets are cut alike (in `two_sided` they are not)."""

    def __init__(self, engine: tokenizers.Tokenizer) -> None:
        self._engine = engine

    @property
    def vocabulary(self) -> int:
        """Number of ids, the four control tokens included."""
        return int(self._engine.get_vocab_size())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the vocabulary and the merges, whatever version of the library wrote the file."""
        model = json.loads(self._engine.to_str())["model"]
        return hashlib.sha256(
            json.dumps([model["vocab"], model["merges"]], sort_keys=True).encode()
        ).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each source, without BOS or EOS."""
        encoded: list[list[int]] = []
        for start in range(0, len(lines), _LINES_AT_ONCE):
            batch = list(lines[start : start + _LINES_AT_ONCE])
            encoded += [each.ids for each in self._engine.encode_batch_fast(batch, add_special_tokens=False)]
        return encoded

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each target, without BOS or EOS."""
        return self.encode(lines)

    def decode(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """The text of each id sequence; control tokens say nothing, broken UTF-8 becomes U+FFFD."""
        batch = [[i for i in map(int, sequence) if i not in CONTROL_NAMES] for sequence in sequences]
        return list(self._engine.decode_batch(batch, skip_special_tokens=False))

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for, which need not be whole characters; none for a control token."""
        name = "" if token in CONTROL_NAMES else self._engine.id_to_token(token)
        if name is None:
            raise IndexError(f"no token has the id {token}")
        return bytes(_BYTE_OF[character] for character in name)

    def names(self) -> list[str]:
        """What each id is called in the file, by id; a name is no text (`piece` gives that)."""
        return [str(self._engine.id_to_token(token)) for token in range(self.vocabulary)]

    def to_json(self) -> str:
        """What the `tokenizers` library reads."""
        return str(self._engine.to_str())

    def save(self, path: Path) -> None:
        """Write the file that `load` and the `tokenizers` library read."""
        write_atomic(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read what `save` wrote; raises UserError for anything else."""
        try:
            engine = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except Exception as error:  # the library raises bare Exception
            raise UserError(f"{path}: not a tokenizer ({error}). Delete it to have it built again.") from None
        if any(engine.id_to_token(i) != name for i, name in CONTROL_NAMES.items()):
            raise UserError(
                f"{path}: ids 0 to 3 are not xformer's control tokens. Use a tokenizer it trained."
            )
        return cls(engine)


def train_tokenizer(lines: Iterable[str], vocabulary: int) -> Tokenizer:
    """Learn the merges of both sides of the training text, streamed.

    Raises UserError where `vocabulary` is under the bytes and control tokens alone, or beyond what
    the text can give.
    """
    if vocabulary < SMALLEST_VOCABULARY:
        raise UserError(
            f"tokenizer.vocabulary={vocabulary}: the 256 bytes and {len(CONTROL_NAMES)} control tokens "
            f"alone need {SMALLEST_VOCABULARY}. Set it to at least that."
        )
    engine = tokenizers.Tokenizer(models.BPE())
    # A space before each line, off again after decoding: the first word is then the same as elsewhere.
    engine.normalizer = normalizers.Prepend(" ")
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=_MIN_FREQUENCY,
        special_tokens=[CONTROL_NAMES[i] for i in sorted(CONTROL_NAMES)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    engine.train_from_iterator(lines, trainer)
    # The library matches its special tokens in running text: keep their ids, drop the matching.
    state = json.loads(engine.to_str())
    state["added_tokens"] = []
    tokenizer = Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(state)))
    if tokenizer.vocabulary != vocabulary:
        raise UserError(
            f"tokenizer.vocabulary={vocabulary}: this text gives no more than {tokenizer.vocabulary}. "
            f"Set tokenizer.vocabulary to {tokenizer.vocabulary} or less."
        )
    return tokenizer
