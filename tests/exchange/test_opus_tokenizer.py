"""A published opus-mt model is a run like any other here: the same ids, texts and translations."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import xformer
from tests.exchange.opus import SOURCES, TARGETS, make_opus
from xformer import cli
from xformer.data.tokenizer import CONTROL_NAMES, Tokenizer
from xformer.data.tokenizer_file import load_tokenizer
from xformer.data.vocabulary import BOS, PAD
from xformer.exchange import plain

ODD = [
    "", " ", "  a  dog   runs  ", "\ta dog\u00a0runs\u3000home\n", "Größe, ÄÖÜ und ß", "café cafe\u0301 CAFÉ",
    "a 🐕 runs 👩‍👩‍👧 ❤️", "ﬁne ½ ① Ａ Ｂｃ ﷺ … ™ ㌀", "日本語の文", "Привет, мир",
    "한글 \u1112\u1161\u11ab", "ก็ กำ",
    "か\u3099 e\u0301\u0302 ½\u0301", "a▁b ▁ ▁▁ c▁",
    "zzz W zW Wo ein eins", "\u200b\ufeffdog\u00ad", "a dog ein Hund",
    "\u0301dog", "dogdogdogdog..........!!!", "ⅷ ǆ ĳ ſ", ">>deu<< a dog runs", ">>xyz<< a dog", ">>deu<<",
    " >>deu<< a dog", "a >>deu<< dog", ">> no code", "<s> < unk >", "x" * 300,
]  # fmt: skip


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """The folder, and its model and tokenizer as `transformers` has them."""
    folder = tmp_path_factory.mktemp("opus") / "model"
    return folder, *make_opus(folder)


@pytest.fixture(scope="module")
def run(opus: tuple[Path, Any, Any]) -> Path:
    """The run folder made of it."""
    run = opus[0].parent / "runs" / "run"
    assert cli.main(["import", str(opus[0]), "--out", str(run)]) == 0
    return run


def noise(count: int) -> list[str]:
    """Lines of characters of all kinds, and of those that the models know."""
    draw = random.Random(0)
    known = sorted({*"".join(SOURCES + TARGETS)})
    kinds: list[Callable[[], str]] = [
        lambda: chr(draw.randrange(0x20, 0xD800)), lambda: chr(draw.randrange(0x300, 0x340)),
        lambda: chr(draw.randrange(0xE000, 0x20000)), *[lambda: draw.choice(known)] * 5, lambda: " ",
    ]  # fmt: skip
    return ["".join(draw.choice(kinds)() for _ in range(draw.randrange(30))) for _ in range(count)]


OTHER_KINDS: dict[str, dict[str, Any]] = {
    "bpe": {"model_type": "bpe"},
    "characters": {"model_type": "char"},
    "bytes": {"byte_fallback": True, "vocab_size": 400},
    "bpe and bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 400},
    "user-defined": {"user_defined_symbols": ["dog", "Hund"]},
    "spaces after": {"treat_whitespace_as_suffix": True},
    "no space before": {"add_dummy_prefix": False},
    "all spaces": {"remove_extra_whitespaces": False},
    "as written": {"normalization_rule_name": "identity"},
}


def theirs_of(tokenizer: Any, run: Path) -> tuple[dict[int, int], Tokenizer]:
    """Our id of each of theirs, found by name, and our tokenizer."""
    ours = load_tokenizer(run / "tokenizer.json")
    renamed = {"</s>": 2, "<unk>": 3, "<pad>": 0}
    new = {name: token for token, name in enumerate(ours.names())}
    return {old: renamed.get(name, new.get(name, -1)) for name, old in tokenizer.get_vocab().items()}, ours


def test_ids_are_those_of_marians_tokenizer_on_both_sides(opus: tuple[Path, Any, Any], run: Path) -> None:
    new, ours = theirs_of(opus[2], run)
    lines = [*SOURCES, *TARGETS, *ODD, *noise(300)]
    for found, expected in (
        (ours.encode(lines), opus[2](lines).input_ids),
        (ours.encode_target(lines), opus[2](text_target=lines).input_ids),
    ):
        for line, mine, ids in zip(lines, found, expected, strict=True):
            assert [*mine, 2] == [new[token] for token in ids], line
    assert ours.encode(TARGETS) != ours.encode_target(TARGETS)


def test_texts_are_those_of_marians_tokenizer(opus: tuple[Path, Any, Any], run: Path) -> None:
    new, ours = theirs_of(opus[2], run)
    lines = [*SOURCES, *TARGETS, *ODD, *noise(50)]
    draw = torch.Generator().manual_seed(0)
    sequences = opus[2](text_target=lines).input_ids
    sequences += torch.randint(len(new), (200, 12), generator=draw).tolist()
    expected = opus[2].batch_decode(sequences, skip_special_tokens=True)
    assert ours.decode([[new[token] for token in ids] for ids in sequences]) == expected
    assert ours.decode(ours.encode_target(["Ein Hund schläft."])) == ["Ein Hund schläft."]


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_any_kind_of_sentencepiece_is_cut_and_read_as_marians_tokenizer_does(
    kind: str, tmp_path: Path
) -> None:
    folder, run = tmp_path / "model", tmp_path / "run"
    _, theirs = make_opus(folder, **OTHER_KINDS[kind])
    assert cli.main(["import", str(folder), "--out", str(run)]) == 0
    new, ours = theirs_of(theirs, run)
    lines = [*SOURCES, *TARGETS, *ODD, *noise(50)]
    sources, targets = theirs(lines).input_ids, theirs(text_target=lines).input_ids
    assert [[*ids, 2] for ids in ours.encode(lines)] == [[new[token] for token in ids] for ids in sources]
    found = ours.encode_target(lines)
    assert [[*ids, 2] for ids in found] == [[new[token] for token in ids] for ids in targets]
    assert ours.decode(found) == theirs.batch_decode(targets, skip_special_tokens=True)


def test_text_of_control_tokens_is_text(run: Path) -> None:
    ours = load_tokenizer(run / "tokenizer.json")
    for line in ("</s>", "a <pad> dog", "<unk>", *CONTROL_NAMES.values()):
        for (ids,) in (ours.encode([line]), ours.encode_target([line])):
            assert not {PAD, BOS, 2} & {*ids}


def test_translations_are_those_of_transformers(opus: tuple[Path, Any, Any], run: Path) -> None:
    from xformer.decoding.search import SearchSettings
    from xformer.decoding.translate import one_line

    _, model, tokenizer = opus
    lines = [*SOURCES, *(line for line in ODD if line.strip() and len(line) < 100)]
    how = SearchSettings(beam=4, alpha=0.0, extra_length=400, min_length=8, max_length=30)
    found = xformer.load(run, device="cpu").translate(lines, how)
    for line, text in zip(lines, found, strict=True):
        written = model.generate(
            **tokenizer([line], return_tensors="pt"), num_beams=4, length_penalty=0.0, min_new_tokens=8,
            max_length=None, max_new_tokens=31, suppress_tokens=[1, model.config.pad_token_id],
        )  # fmt: skip
        assert written.shape[1] < 32  # where transformers ends at no price, and we do not
        assert text == one_line(tokenizer.decode(written[0], skip_special_tokens=True)), line
    assert len({*found}) > 9


def test_log_probabilities_are_of_targets_cut_as_such(opus: tuple[Path, Any, Any], run: Path) -> None:
    _, model, tokenizer = opus
    sources, targets = SOURCES[:3], TARGETS[:3]
    found = xformer.load(run, device="cpu").score(sources, targets)
    for source, target, total in zip(sources, targets, found, strict=True):
        batch = tokenizer([source], text_target=[target], return_tensors="pt")
        with torch.no_grad():
            logits = model(**batch).logits[0]
        chosen = logits.log_softmax(-1).gather(-1, batch.labels[0][:, None])
        assert total == pytest.approx(chosen.sum().item(), abs=1e-3)


def test_commands_take_it_like_any_run(
    opus: tuple[Path, Any, Any], run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "runs" / "other"
    assert cli.main(["import", str(opus[0]), "--out", str(other)]) == 0
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("\n".join(SOURCES) + "\n")
    target.write_text("\n".join(TARGETS[: len(SOURCES)]) + "\n")
    short = ("--max-length", "5", "--beam", "2")
    for each in (run, other):
        files = ("--input", str(source), "--reference", str(target))
        assert cli.main(["evaluate", str(each), *files]) == 0
    (scores,) = (json.loads(path.read_text()) for path in (run / "evaluations").glob("*.json"))
    (split,) = scores["splits"]
    assert cli.main(["compare", str(run), str(other), "--split", split]) == 0
    into = tmp_path / "translations"
    assert cli.main(["translate", str(run), "--input", str(source), "--output", str(into), *short]) == 0
    assert into.read_text().count("\n") == len(SOURCES)
    maps = tmp_path / "maps.json"
    line = ("--source", SOURCES[0], "--target", TARGETS[0])
    assert cli.main(["attend", str(run), *line, "--out", str(maps)]) == 0
    assert "·Mann" in maps.read_text() or "·M" in maps.read_text()
    assert "sentencepiece" in (run / "config.yaml").read_text()
    capsys.readouterr()


def test_it_is_exported_to_plain_files_and_to_no_format_with_one_tokenizer(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plain"
    assert cli.main(["export", str(run), "--to", "safetensors", "--out", str(out)]) == 0
    ours, back = load_tokenizer(run / "tokenizer.json"), plain.load(out).tokenizer
    assert back.digest == ours.digest
    assert back.encode_target(TARGETS) == ours.encode_target(TARGETS)
    for format in ("marian", "ctranslate2"):
        assert cli.main(["export", str(run), "--to", format, "--out", str(tmp_path / format)]) == 2
        assert f"has no place in the format {format}" in capsys.readouterr().err
        assert not (tmp_path / format).exists()


def _vocabulary(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        path = folder / "vocab.json"
        values = json.loads(path.read_text())
        change(values)
        path.write_text(json.dumps(values))

    return apply


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no target": (lambda folder: (folder / "target.spm").unlink(), "lacks target.spm"),
    "no source": (lambda folder: (folder / "source.spm").unlink(), "lacks source.spm"),
    "no ids": (lambda folder: (folder / "vocab.json").unlink(), "lacks vocab.json"),
    "no JSON": (lambda folder: (folder / "vocab.json").write_text("{"), "vocab.json: cannot be read as JSON"),
    "no end": (_vocabulary(lambda ids: ids.pop("</s>")), "vocab.json: lacks </s>, the model's eos_token"),
    "no unknown": (_vocabulary(lambda ids: ids.pop("<unk>")), "vocab.json: lacks <unk>"),
    "words for ids": (_vocabulary(lambda ids: ids.update(a="b")), "'a' has the id 'b'"),
    "an id too many": (_vocabulary(lambda ids: ids.update(more=len(ids))), "only a model with one row"),
    "one id twice": (_vocabulary(lambda ids: ids.update(more=7)), "only a model with one row for each"),
    "another end": (
        _vocabulary(lambda ids: ids.update({"</s>": 1, "<unk>": 0})), "the end has the id 1, but eos_token_id"
    ),
    "two vocabularies": (
        lambda folder: (folder / "tokenizer_config.json").write_text('{"separate_vocabs": true}'),
        "separate_vocabs is true",
    ),
    "torn": (
        lambda folder: (folder / "source.spm").write_bytes((folder / "source.spm").read_bytes()[:5000]),
        "source.spm: is no SentencePiece model, or a torn one",
    ),
    "empty": (lambda folder: (folder / "target.spm").write_bytes(b""), "target.spm: is no SentencePiece"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_bad_folder_is_refused_with_one_line_and_leaves_nothing(
    name: str, opus: tuple[Path, Any, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, message = BROKEN[name]
    folder, run = tmp_path / "model", tmp_path / "run"
    shutil.copytree(opus[0], folder)
    spoil(folder)
    capsys.readouterr()
    assert cli.main(["import", str(folder), "--out", str(run)]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
