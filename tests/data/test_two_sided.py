"""Sources and targets are cut in two ways, and share their ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer, train_tokenizer
from xformer.data.tokenizer_file import load_tokenizer
from xformer.data.two_sided import TwoSided, sentencepiece_of
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.errors import UserError

NAMES = [*(CONTROL_NAMES[token] for token in sorted(CONTROL_NAMES)), "▁a", "b", "▁ab", ">>deu<<", "▁"]
SOURCE = {"▁a": -1.0, "b": -1.0, "▁": -3.0}
TARGET = {"▁ab": -1.0, "▁a": -1.0, "b": -3.0, "▁": -3.0, "c": -3.0}
BYTES = {f"<0x{byte:02X}>": 0.0 for byte in range(256)}


def model(scores: dict[str, float]) -> bytes:
    """A unigram model of these log-probabilities; with the pieces of bytes among them, it cuts into those."""
    made = ModelProto()
    made.pieces.add(piece="<unk>", type=ModelProto.SentencePiece.UNKNOWN)
    for piece, score in scores.items():
        kind = ModelProto.SentencePiece.BYTE if piece in BYTES else ModelProto.SentencePiece.NORMAL
        made.pieces.add(piece=piece, score=score, type=kind)
    made.trainer_spec.byte_fallback = BYTES.keys() <= scores.keys()
    made.normalizer_spec.name = "identity"
    return bytes(made.SerializeToString())


def sides(source: dict[str, float] = SOURCE, target: dict[str, float] = TARGET) -> TwoSided:
    """A tokenizer of the two."""
    return TwoSided(NAMES, sentencepiece_of(model(source)), sentencepiece_of(model(target)))


def test_each_side_is_cut_in_its_way_and_read_with_the_same_names() -> None:
    both = sides()
    assert (both.encode(["ab"]), both.encode_target(["ab"])) == ([[4, 5]], [[6]])
    assert both.decode([[4, 5], [6], [BOS, 6, 4, UNK, EOS, PAD], []]) == ["ab", "ab", "ab a", ""]
    assert [both.piece(token) for token in (PAD, 4, 5)] == [b"", b" a", b"b"]
    assert (both.vocabulary, both.names()) == (9, NAMES)
    for token in (-1, 9):
        with pytest.raises(IndexError):
            both.piece(token)


def test_a_piece_without_an_id_is_unknown_and_control_tokens_are_text() -> None:
    both = sides()
    assert both.encode_target(["ac"]) == [[4, UNK]]
    assert both.encode(["aé"]) == [[4, UNK]]
    assert both.encode([f"b {CONTROL_NAMES[EOS]}"]) == [[8, 5, 8, UNK]]


def test_a_code_at_the_beginning_is_one_token() -> None:
    both = sides()
    assert both.encode([">>deu<< ab", ">>deu<<"]) == [[7, 4, 5], [7]]
    assert both.encode([">>nld<< ab"]) == [[UNK, 4, 5]]
    assert both.encode(["b >>nld<<", ">>"]) == [[8, 5, 8, UNK], [8, UNK]]


def test_a_character_without_a_piece_may_be_bytes() -> None:
    names = [*NAMES, "<0xC3>", "<0xA9>"]
    cut = sentencepiece_of(model(SOURCE | BYTES))
    both = TwoSided(names, cut, cut)
    assert both.encode(["bé"]) == [[8, 5, 9, 10]]
    assert both.decode([[8, 5, 9, 10, 5], [9]]) == ["béb", "\ufffd"]
    assert [both.piece(token) for token in (5, 9, 10)] == [b"b", b"\xc3", b"\xa9"]


def test_a_file_gives_it_back_with_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    sides().save(path)
    back = load_tokenizer(path)
    assert isinstance(back, TwoSided)
    assert back.digest == sides().digest
    assert back.encode_target(["ab c"]) == sides().encode_target(["ab c"])
    assert len({sides().digest, sides(TARGET, SOURCE).digest, sides(SOURCE, SOURCE).digest}) == 3


def test_a_file_of_one_side_loads_as_before(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    one = train_tokenizer(["a b c"] * 9, 260)
    one.save(path)
    assert type(load_tokenizer(path)) is Tokenizer
    assert load_tokenizer(path).digest == one.digest == Tokenizer.load(path).digest
    assert one.encode_target(["a c"]) == one.encode(["a c"])


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    whole = json.loads(sides().to_json())
    for change in (
        {"names": NAMES[1:]},
        {"names": [*NAMES, "b"]},
        {"names": None},
        {"target": {}},
        {"source": 3},
        {"source": ""},
        {"target": "no base64"},
        {"target": whole["target"][:-8]},
    ):
        path.write_text(json.dumps(whole | change))
        with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer"):
            load_tokenizer(path)
    path.write_text("{")
    with pytest.raises(UserError, match="not a tokenizer"):
        load_tokenizer(path)
