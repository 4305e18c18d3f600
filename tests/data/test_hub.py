"""Corpora by name: here copies on this disk in the library's own formats, with every way out barred."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.data.corpora import files_data, sentences, write_corpus
from xformer.config import schema
from xformer.config.compose import compose
from xformer.data.corpus import open_corpus, read_lines
from xformer.data.prepare import prepare
from xformer.errors import UserError

datasets = pytest.importorskip("datasets")  # an extra; requirements.lock has it
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
SIZES = {"train": 60, "validation": 5, "test": 7}


@pytest.fixture(autouse=True)
def barred(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test of this file reaches a network, whatever the machine has."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("the network is barred")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def rows(split: str) -> list[dict[str, str]]:
    sides = sentences(SIZES[split]), sentences(SIZES[split], shift=3)
    return [{"en": one, "de": other} for one, other in zip(*sides, strict=True)]


def write_columns(folder: Path) -> None:
    """A line of JSON for each pair, as Multi30k has it."""
    folder.mkdir()
    for split in SIZES:
        text = "".join(f"{json.dumps(row)}\n" for row in rows(split))
        (folder / f"{split}.jsonl").write_text(text)


def write_parquet(folder: Path) -> None:
    """Parquet with one column of both languages, as WMT has it, in a part of the repository."""
    (folder / "de-en").mkdir(parents=True)
    for split in SIZES:
        table = pyarrow.table({"translation": rows(split)})
        parquet.write_table(table, folder / "de-en" / f"{split}-00000-of-00001.parquet")
    configs = [{"config_name": "de-en", "data_files": [
        {"split": split, "path": f"de-en/{split}-*"} for split in SIZES
    ]}]  # fmt: skip
    (folder / "README.md").write_text(f"---\nconfigs: {json.dumps(configs)}\n---\n")


def hub(name: str, repository: Path, **changes: Any) -> schema.HubData:
    """`data=NAME data.repository=DIR`."""
    data = compose([f"data={name}", f"data.repository={repository}"]).data
    assert isinstance(data, schema.HubData)
    return replace(data, **changes)


@pytest.mark.parametrize(("name", "write"), [("multi30k", write_columns), ("wmt14_en_de", write_parquet)])
def test_its_text_is_the_same_corpus_as_from_files(tmp_path: Path, name: str, write: Any) -> None:
    write(tmp_path / "copy")
    fetched = open_corpus(hub(name, tmp_path / "copy"), tmp_path / "cache")
    sides = {"train": "train", "valid": "validation", "test": "test"}
    write_corpus(
        tmp_path / "files",
        {
            ours: tuple([row[side] for row in rows(theirs)] for side in ("en", "de"))
            for ours, theirs in sides.items()
        },
    )
    from_files = open_corpus(files_data(tmp_path / "files"), tmp_path / "cache")
    assert fetched.digest == from_files.digest
    assert fetched.name == f"{name.removesuffix('_en_de')}-en-de"
    assert (fetched.source_language, fetched.target_language) == ("en", "de")


def test_it_is_prepared_as_any_corpus_and_fetched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_columns(tmp_path / "copy")
    overrides = ["data=multi30k", f"data.repository={tmp_path / 'copy'}", "tokenizer.vocabulary=275"]
    config = compose([*overrides, f"cache_dir={tmp_path / 'cache'}"])
    prepared = prepare(config)
    assert len(prepared.train) == 60
    assert len(prepared.evaluation("test")) == 7
    monkeypatch.setattr(datasets, "load_dataset", None)  # and never asked again
    assert prepare(config).data_hash == prepared.data_hash


def test_the_other_direction_is_another_corpus(tmp_path: Path) -> None:
    write_columns(tmp_path / "copy")
    forth = open_corpus(hub("multi30k", tmp_path / "copy"), tmp_path / "cache")
    back = open_corpus(hub("multi30k", tmp_path / "copy", source="de", target="en"), tmp_path / "cache")
    assert back.digest != forth.digest
    assert read_lines(back.splits["test"].source) == read_lines(forth.splits["test"].target)


def test_a_copy_that_has_changed_is_read_again(tmp_path: Path) -> None:
    write_columns(tmp_path / "copy")
    before = open_corpus(hub("multi30k", tmp_path / "copy"), tmp_path / "cache")
    with (tmp_path / "copy" / "test.jsonl").open("a") as file:
        file.write('{"en": "one more", "de": "noch eins"}\n')
    after = open_corpus(hub("multi30k", tmp_path / "copy"), tmp_path / "cache")
    assert (before.splits["test"].lines, after.splits["test"].lines) == (7, 8)


def test_a_text_that_was_torn_is_fetched_again(tmp_path: Path) -> None:
    write_columns(tmp_path / "copy")
    corpus = open_corpus(hub("multi30k", tmp_path / "copy"), tmp_path / "cache")
    corpus.splits["train"].source.write_text("torn\n")
    assert open_corpus(hub("multi30k", tmp_path / "copy"), tmp_path / "cache") == corpus


def test_a_cell_of_several_lines_stays_one_pair(tmp_path: Path) -> None:
    write_columns(tmp_path / "copy")
    odd = {"en": "one\ntwo\r\nthree\u2028four", "de": None}
    (tmp_path / "copy" / "test.jsonl").write_text(f"{json.dumps(rows('test')[0])}\n{json.dumps(odd)}\n")
    test = open_corpus(hub("multi30k", tmp_path / "copy"), tmp_path / "cache").splits["test"]
    assert read_lines(test.source)[1:] == ["one two three\u2028four"]
    assert read_lines(test.target)[1:] == [""]


@pytest.mark.parametrize("name", ["multi30k", "iwslt14_de_en", "wmt14_en_de", "wmt14_en_fr"])
def test_without_a_network_it_is_told_how_to_use_files(tmp_path: Path, name: str) -> None:
    config = compose([f"data={name}"])
    assert isinstance(config.data, schema.HubData)
    source, target = config.data.source, config.data.target
    with pytest.raises(UserError, match="cannot be fetched") as caught:
        open_corpus(config.data, tmp_path)
    assert f"data=files data.dir=DIR data.source={source} data.target={target}" in str(caught.value)
    assert not list((tmp_path / "corpora").glob("*/"))  # nothing half done


def test_a_missing_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'xformer\[corpora\]'[^\0]*data=files"):
        open_corpus(compose(["data=multi30k"]).data, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "fr"}, "has no language fr, but en, de; set data.source and data.target"),
        ({"test": "test2016"}, "cannot be fetched: .*test2016"),
    ],
)
def test_what_the_repository_has_not_is_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    write_columns(tmp_path / "copy")
    with pytest.raises(UserError, match=message):
        open_corpus(hub("multi30k", tmp_path / "copy", **changes), tmp_path / "cache")


def test_vocabularies_are_the_papers_and_may_be_chosen() -> None:
    """Section 5.1: 37,000 for English-German, 32,000 for English-French."""
    assert compose(["data=wmt14_en_de", "scale=paper"]).tokenizer.vocabulary == 37000
    assert compose(["data=wmt14_en_fr", "scale=paper"]).tokenizer.vocabulary == 32000
    assert compose(["data=wmt14_en_fr", "tokenizer.vocabulary=500"]).tokenizer.vocabulary == 500
    scale = compose(["data=multi30k", "scale=mini"])
    assert scale.tokenizer.vocabulary == scale.scale.vocabulary


def test_two_equal_languages_are_refused() -> None:
    with pytest.raises(UserError, match=r"data\.target: en is data\.source too"):
        compose(["data=multi30k", "data.target=en"])
