"""Every token has a name that can be seen, and a pair is what the model reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tests.attention_maps import models
from xformer.attention_maps.tokens import label, pair, visible
from xformer.data.tokenizer import CONTROL_NAMES, SMALLEST_VOCABULARY, Tokenizer
from xformer.data.vocabulary import BOS, EOS, PAD


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return models.tokenizer()


@pytest.mark.parametrize(
    ("piece", "seen"),
    [
        (b" the", "·the"),
        (b"  ", "··"),
        ("é漢🙂".encode(), "é漢🙂"),
        (b"\xc3", "\\xc3"),
        (b" \xa9x", "·\\xa9x"),
        (b"\x00\t\n\x1b\x7f", "\\x00\\t\\n\\x1b\\x7f"),
        ("\x85\u00a0\u200b\u202e\u2028\U000e0001".encode(), "\\x85\\xa0\\u200b\\u202e\\u2028\\U000e0001"),
        (b"</script>", "</script>"),
    ],
)
def test_a_piece_is_shown_so_that_every_byte_is_seen(piece: bytes, seen: str) -> None:
    assert visible(piece) == seen


@settings(deadline=None, max_examples=300)
@given(st.binary(min_size=1, max_size=8))
def test_no_piece_is_invisible_or_changes_what_stands_beside_it(piece: bytes) -> None:
    seen = visible(piece)
    assert seen
    assert seen.isprintable()
    assert " " not in seen


def test_every_token_of_a_vocabulary_has_a_name(tokenizer: Tokenizer) -> None:
    names = [label(tokenizer, token) for token in range(tokenizer.vocabulary)]
    assert all(names)
    assert len(set(names)) == len(names)
    assert {token: names[token] for token in CONTROL_NAMES} == CONTROL_NAMES
    assert names[SMALLEST_VOCABULARY:]
    assert all(name in {*CONTROL_NAMES.values()} or "⟨" not in name for name in names)


def test_source_and_target_are_set_between_control_tokens(tokenizer: Tokenizer) -> None:
    (source,), (target,) = tokenizer.encode(["the cat"]), tokenizer.encode(["a dog sat"])
    found = pair(tokenizer, source, target)
    assert [token.id for token in found.source] == [*source, EOS]
    assert [token.id for token in found.target] == [BOS, *target]
    assert [token.id for token in found.written] == [*target, EOS]
    assert "".join(token.label for token in found.source) == "·the·cat⟨eos⟩"
    assert (found.source_cut, found.target_cut) == (0, 0)
    assert PAD not in {token.id for token in found.source + found.target + found.written}


def test_control_tokens_typed_as_text_are_text(tokenizer: Tokenizer) -> None:
    (source,) = tokenizer.encode(["⟨eos⟩ ⟨pad⟩ </s>"])
    found = pair(tokenizer, source, [])
    assert [token.id for token in found.source if token.id in CONTROL_NAMES] == [EOS]
    assert found.source[-1].id == EOS
    shown = "".join(token.label for token in found.source[:-1])
    assert shown == "·\\xe2\\x9f\\xa8eos\\xe2\\x9f\\xa9·\\xe2\\x9f\\xa8pad\\xe2\\x9f\\xa9·</s>"


def test_an_empty_pair_is_its_control_tokens(tokenizer: Tokenizer) -> None:
    found = pair(tokenizer, [], [], longest_source=1, longest_target=1)
    assert [token.id for token in found.source] == [EOS]
    assert [token.id for token in found.target] == [BOS]
    assert [token.id for token in found.written] == [EOS]
    assert (found.source_cut, found.target_cut) == (0, 0)


def test_what_is_longer_than_the_positions_is_cut_and_counted(tokenizer: Tokenizer) -> None:
    ids = list(range(10, 20))
    found = pair(tokenizer, ids, ids, longest_source=6, longest_target=8)
    assert [token.id for token in found.source] == [*ids[:5], EOS]
    assert [token.id for token in found.target] == [BOS, *ids[:7]]
    assert [token.id for token in found.written] == ids[:8]
    assert (found.source_cut, found.target_cut) == (5, 3)
    fits = pair(tokenizer, ids, ids, longest_source=11, longest_target=11)
    assert (len(fits.source), len(fits.target), fits.source_cut, fits.target_cut) == (11, 11, 0, 0)
