"""Any text has ids and comes back as it was; no text reaches a control token."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.data.corpora import sentences
from xformer.data import tokenizer as module
from xformer.data.tokenizer import CONTROL_NAMES, SMALLEST_VOCABULARY, Tokenizer, train_tokenizer
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.errors import UserError

CONTROLS = {PAD, BOS, EOS, UNK}
LIKE_CONTROLS = ["</s>", "<s>", "<pad>", "<unk>", "[PAD]", "<|endoftext|>", *CONTROL_NAMES.values()]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(sentences(100), 280)


# --- round trip ----------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(lines=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4))
def test_any_unicode_line_comes_back_as_it_was(tokenizer: Tokenizer, lines: list[str]) -> None:
    encoded = tokenizer.encode(lines)
    assert tokenizer.decode(encoded) == lines
    assert all(len(CONTROLS) <= i < tokenizer.vocabulary for ids in encoded for i in ids)


@pytest.mark.parametrize(
    "line",
    [
        *LIKE_CONTROLS,
        f"the cat {CONTROL_NAMES[EOS]} sat{CONTROL_NAMES[PAD]}",
        "  two  spaces   at both ends  ",
        "\ttab, quotes \"'“”, it's ½ ﬁ e\u0301 \u00e9 \ufeff\u200b\x00\u2028\x85",
        "漢字 🙂 👩‍👩‍👧 \U0010ffff",
        "",
        " ",
    ],
)
def test_awkward_lines_come_back_as_they_were(tokenizer: Tokenizer, line: str) -> None:
    assert tokenizer.decode(tokenizer.encode([line])) == [line]


@settings(deadline=None, max_examples=300)
@given(line=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_the_pieces_of_a_line_are_its_bytes_after_a_space(tokenizer: Tokenizer, line: str) -> None:
    (ids,) = tokenizer.encode([line])
    assert b"".join(map(tokenizer.piece, ids)) == b" " + line.encode()


def test_there_is_a_piece_for_every_byte_and_none_for_control_tokens(tokenizer: Tokenizer) -> None:
    pieces = [tokenizer.piece(i) for i in range(SMALLEST_VOCABULARY)]
    assert sorted(pieces) == [b""] * len(CONTROLS) + [bytes([byte]) for byte in range(256)]
    with pytest.raises(IndexError):
        tokenizer.piece(tokenizer.vocabulary)


@pytest.mark.parametrize("text", LIKE_CONTROLS)
def test_text_that_looks_like_a_control_token_is_text_even_when_learned_from(text: str) -> None:
    trained = train_tokenizer([f"{text} and {text}"] * 20 + sentences(50), 290)
    (ids,) = trained.encode([f"a{text} {text}"])
    assert not CONTROLS & set(ids)
    assert trained.decode([ids]) == [f"a{text} {text}"]


def test_a_character_never_seen_in_training_has_ids(tokenizer: Tokenizer) -> None:
    assert len(tokenizer.encode(["語"])[0]) == 4  # its three bytes, after the space before every line


def test_many_lines_are_encoded_like_one_at_a_time(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = sentences(10)
    singly = [tokenizer.encode([line])[0] for line in lines]
    monkeypatch.setattr(module, "_LINES_AT_ONCE", 3)
    assert tokenizer.encode(lines) == singly
    assert tokenizer.encode([]) == []


# --- control tokens --------------------------------------------------------------------------


def test_control_tokens_are_the_first_four_ids_before_and_after_saving(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    for each in (tokenizer, loaded):
        vocabulary = each._engine.get_vocab()
        assert sorted(vocabulary.values()) == list(range(280))
        assert [vocabulary[CONTROL_NAMES[i]] for i in (PAD, BOS, EOS, UNK)] == [0, 1, 2, 3]


def test_decoding_says_nothing_for_control_tokens(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["the cat"])
    assert tokenizer.decode([[BOS, *ids, UNK, EOS, PAD, PAD], [PAD], []]) == ["the cat", "", ""]


def test_decoding_a_torn_character_gives_the_replacement_character(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["語"])
    assert tokenizer.decode([ids[:2]]) == ["\ufffd"]


# --- training --------------------------------------------------------------------------------


def test_the_vocabulary_has_the_size_asked_for(tokenizer: Tokenizer) -> None:
    assert tokenizer.vocabulary == 280
    assert train_tokenizer(sentences(100), SMALLEST_VOCABULARY).vocabulary == SMALLEST_VOCABULARY == 260


def test_a_frequent_word_is_one_id_and_the_same_at_the_beginning_of_a_line(tokenizer: Tokenizer) -> None:
    (the,) = tokenizer.encode(["the"])[0]
    assert tokenizer.encode(["the the"]) == [[the, the]]
    assert tokenizer.decode([[the, the]]) == ["the the"]


def test_a_vocabulary_below_the_bytes_is_refused() -> None:
    with pytest.raises(UserError, match=r"tokenizer\.vocabulary=259: .* need 260"):
        train_tokenizer(sentences(10), 259)


def test_a_vocabulary_that_the_text_cannot_fill_is_refused_with_the_size_reached() -> None:
    with pytest.raises(UserError, match=r"no more than (\d+)") as refusal:
        train_tokenizer(["ab ab", "ab"], 1000)
    # Two merges, "ab" and " ab", since every line begins with a space.
    assert "tokenizer.vocabulary=1000: this text gives no more than 262" in str(refusal.value)
    assert train_tokenizer(["ab ab", "ab"], 262).vocabulary == 262


_TRAIN_ELSEWHERE = """
import sys
from tests.data.corpora import sentences
from xformer.data.tokenizer import train_tokenizer
print(train_tokenizer(sentences(300), 300).digest)
"""


def test_training_gives_the_same_tokenizer_in_any_process_with_any_number_of_threads() -> None:
    digests = {train_tokenizer(iter(sentences(300)), 300).digest}
    for threads in ("1", "4"):
        environment = {**os.environ, "RAYON_NUM_THREADS": threads}
        environment.pop("TOKENIZERS_PARALLELISM", None)
        run = subprocess.run(
            [sys.executable, "-c", _TRAIN_ELSEWHERE],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        digests.add(run.stdout.strip())
    assert len(digests) == 1


# --- files -----------------------------------------------------------------------------------


def test_a_loaded_tokenizer_is_the_saved_one(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (loaded.digest, loaded.vocabulary) == (tokenizer.digest, tokenizer.vocabulary)
    assert loaded.encode(["the dog </s>"]) == tokenizer.encode(["the dog </s>"])


def test_another_vocabulary_or_text_has_another_digest(tokenizer: Tokenizer) -> None:
    others = [
        train_tokenizer(sentences(100), 281),
        train_tokenizer(["a longer text"] * 40 + sentences(90), 280),
    ]
    assert len({tokenizer.digest, *(other.digest for other in others)}) == 3


@pytest.mark.parametrize("text", ["", "{", '{"version": "1.0"}', "no json"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_a_missing_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_a_tokenizer_without_our_control_tokens_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    text = (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text(text.replace(CONTROL_NAMES[EOS], "</s>"), encoding="utf-8")
    with pytest.raises(UserError, match="not xformer's control tokens"):
        Tokenizer.load(tmp_path / "tokenizer.json")


# --- forks (fault S26) -----------------------------------------------------------------------

_FORK = """
import os
from tests.data.corpora import sentences
from xformer.data.tokenizer import train_tokenizer
tokenizer = train_tokenizer(sentences(300), 300)
expected = tokenizer.encode(sentences(300))
for _ in range(5):
    child = os.fork()
    if not child:
        os._exit(0 if tokenizer.encode(sentences(300)) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_children_encode_too_and_no_warning_is_printed() -> None:
    environment = {**os.environ, "RAYON_NUM_THREADS": "2"}
    environment.pop("TOKENIZERS_PARALLELISM", None)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORK],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
