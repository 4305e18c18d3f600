"""The tokens of a sentence pair, as the model reads them and as a person does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer
from xformer.data.vocabulary import BOS, EOS

SPACE = "·"  # most tokens begin with one; unlike ▁ it stands well in a label that is turned


@dataclass(frozen=True)
class Token:
    """A token and its name on an axis; two tokens may look alike, their ids differ."""

    id: int
    label: str


@dataclass(frozen=True)
class Pair:
    """One sentence pair as it goes through the model with teacher forcing.

    `written[t]` is what the model is to write after it has read `target[0 … t]`.
    """

    source: tuple[Token, ...]  # the text's tokens, EOS
    target: tuple[Token, ...]  # BOS, the text's tokens
    written: tuple[Token, ...]  # the text's tokens, EOS: those of `target`, one place on
    source_cut: int = 0  # tokens left out because the model has no positions for them
    target_cut: int = 0


def pair(
    tokenizer: Tokenizer,
    source: Sequence[int],
    target: Sequence[int],
    longest_source: int | None = None,
    longest_target: int | None = None,
) -> Pair:
    """Set control tokens around ids without them, and cut what is longer than the model's positions.

    As in translation, a source that is cut keeps its EOS.
    """
    kept = source[: None if longest_source is None else longest_source - 1]
    whole = [BOS, *target, EOS]
    read = whole[:-1][:longest_target]
    return Pair(
        source=_tokens(tokenizer, [*kept, EOS]),
        target=_tokens(tokenizer, read),
        written=_tokens(tokenizer, whole[1 : len(read) + 1]),
        source_cut=len(source) - len(kept),
        target_cut=len(target) + 1 - len(read),
    )


def label(tokenizer: Tokenizer, token: int) -> str:
    """A token's bytes as text that can be seen; a control token's name."""
    return CONTROL_NAMES.get(token) or visible(tokenizer.piece(token))


def visible(piece: bytes) -> str:
    r"""The text of a piece, where every byte leaves something to see.

    A space is ·, bytes that are no UTF-8 by themselves are in hex (\xc3), and characters without a look of
    their own are escaped (\t, \u200b).
    """
    text = piece.decode("utf-8", errors="backslashreplace").replace(" ", SPACE)
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[Token, ...]:
    return tuple(Token(token, label(tokenizer, token)) for token in ids)
