"""Files are read line by line as they stand, and what is wrong with them is said."""

from __future__ import annotations

import gzip
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.data.corpora import files_data, grammar_data, write_corpus, write_small_corpus
from tests.refusals import at_most_refused
from xformer.data import corpus as module, grammar
from xformer.data.corpus import check_unchanged, open_corpus, read_lines, split
from xformer.errors import UserError

# What Python's `splitlines` or its text mode would cut at, and a reader of lines must not (fault S21).
MARKS = "\u2028\u2029\x85\v\f\x1c\x1d\x1e\r"


def reference_lines(text: str) -> list[str]:
    """The same in other words: cut at LF, forget what follows the last one if that is nothing."""
    *ended, last = text.split("\n")
    lines = [line.removesuffix("\r") for line in ended]
    return [*lines, last] if last else lines


# --- reading -------------------------------------------------------------------------------


def test_lines_are_cut_at_line_feeds_only(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(f"one\nt{MARKS}wo\nthree\n".encode())
    assert read_lines(path) == ["one", f"t{MARKS}wo", "three"]


def test_a_carriage_return_is_dropped_before_a_line_feed_only(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\r\ntwo\r\r\nth\rree\r\n\r\nlast\r")
    assert read_lines(path) == ["one", "two\r", "th\rree", "", "last\r"]


def test_the_last_line_may_lack_its_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo")
    assert read_lines(path) == ["one", "two"]
    path.write_bytes(b"one\n\n")
    assert read_lines(path) == ["one", ""]
    path.write_bytes(b"")
    assert read_lines(path) == []


@settings(deadline=None)
@given(
    text=st.text(st.sampled_from("aé\n\r 漢😀" + MARKS)), compressed=st.booleans(), chunk=st.integers(1, 9)
)
def test_any_text_is_read_and_counted_as_by_a_plain_split(
    tmp_path_factory: pytest.TempPathFactory, text: str, compressed: bool, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("any") / ("text.gz" if compressed else "text")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    assert read_lines(path) == reference_lines(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)  # so that characters and line ends lie across chunks
        assert module._measure(path)[0] == len(reference_lines(text))


@settings(deadline=None)
@given(data=st.binary(max_size=60), chunk=st.integers(1, 9))
def test_any_bytes_are_either_text_or_refused_with_the_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "text"
    path.write_bytes(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        with pytest.raises(UserError, match=rf"text, line {line}: not UTF-8"):
            read_lines(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_CHUNK", chunk)
            with pytest.raises(UserError, match=rf"text, line {line}: not UTF-8"):
                module._measure(path)
    else:
        assert read_lines(path) == reference_lines(text)


def test_a_compressed_file_reads_like_a_plain_one_and_has_the_same_digest(tmp_path: Path) -> None:
    write_small_corpus(tmp_path / "plain")
    write_small_corpus(tmp_path / "packed")
    for path in list((tmp_path / "packed").iterdir()):
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    plain, packed = (open_corpus(files_data(tmp_path / name), tmp_path) for name in ("plain", "packed"))
    assert plain.digest == packed.digest
    assert read_lines(plain.splits["test"].source) == read_lines(packed.splits["test"].source)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: b"plain text\n", lambda data: data[:20] + data[25:]]
)
def test_a_damaged_compressed_file_is_refused(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "text.gz"
    path.write_bytes(damage(gzip.compress(b"a few words\n" * 100)))
    with pytest.raises(UserError, match=r"text\.gz: not a whole gzip file"):
        read_lines(path)


PACKED = gzip.compress(b"a few words\n" * 9)


@settings(deadline=None, max_examples=200)
@given(
    cut=st.integers(0, len(PACKED)),
    put=st.binary(max_size=12),
    skip=st.integers(0, 60),
)
def test_any_bytes_named_gz_are_text_or_refused(
    tmp_path_factory: pytest.TempPathFactory, cut: int, put: bytes, skip: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "text.gz"
    path.write_bytes(PACKED[:cut] + put + PACKED[cut + skip :])
    with at_most_refused(naming="text.gz"):
        assert module._measure(path)[0] == len(read_lines(path))


# --- opening -------------------------------------------------------------------------------


def test_unequal_line_counts_are_refused_with_both_counts(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    write_corpus(tmp_path, {"valid": (["one", "two", "three"], ["eins", "zwei"])})
    with pytest.raises(UserError, match=r"valid\.en has 3 lines and .*valid\.de has 2"):
        open_corpus(files_data(tmp_path), tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    (tmp_path / "test.de").unlink()
    with pytest.raises(UserError, match=r"test\.de not found, nor test\.de\.gz.*splits in de: train, valid$"):
        open_corpus(files_data(tmp_path), tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.dir=.*nowhere: no such folder"):
        open_corpus(files_data(tmp_path / "nowhere"), tmp_path)


@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_an_empty_split_is_refused(tmp_path: Path, name: str) -> None:
    write_small_corpus(tmp_path)
    write_corpus(tmp_path, {name: ([], [])})
    with pytest.raises(UserError, match=rf"{name}\.en and .*{name}\.de are empty"):
        open_corpus(files_data(tmp_path), tmp_path)


def test_the_digest_follows_every_text_and_the_direction(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    digests = {open_corpus(files_data(tmp_path), tmp_path).digest}
    digests.add(open_corpus(files_data(tmp_path, source="de", target="en"), tmp_path).digest)
    for path in sorted(tmp_path.iterdir()):
        before = path.read_bytes()
        path.write_bytes(before.replace(b" 0", b" 9", 1))
        digests.add(open_corpus(files_data(tmp_path), tmp_path).digest)
        path.write_bytes(before)
    assert len(digests) == 2 + 6
    assert open_corpus(files_data(tmp_path), tmp_path).digest in digests


@pytest.mark.parametrize(
    ("folder", "name"),
    [("multi30k", "multi30k-en-de"), ("a b=c,d%e", "a-b-c-d-e-en-de"), (".hidden", "hidden-en-de")],
)
def test_the_name_can_stand_in_a_file_name_and_in_an_override(tmp_path: Path, folder: str, name: str) -> None:
    write_small_corpus(tmp_path / folder)
    assert open_corpus(files_data(tmp_path / folder), tmp_path).name == name


def test_further_splits_are_found_beside_the_test_set(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    write_corpus(tmp_path, {"test_2017_flickr": (["one"], ["eins"]), "uneven": (["one"], [])})
    corpus = open_corpus(files_data(tmp_path), tmp_path)
    assert read_lines(split(corpus, "test_2017_flickr").target) == ["eins"]
    assert split(corpus, "valid") is split(corpus, "dev") is corpus.splits["valid"]
    with pytest.raises(UserError, match=r"test_2018\.en not found"):
        split(corpus, "test_2018")
    with pytest.raises(UserError, match=r"has 1 lines and .* has 0"):
        split(corpus, "uneven")
    with pytest.raises(UserError, match="give the name of a split, not a path"):
        split(corpus, "../test")


def test_splits_are_called_as_the_configuration_says(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    write_corpus(tmp_path, {"dev": (["one"], ["eins"])})
    corpus = open_corpus(files_data(tmp_path, valid="dev"), tmp_path)
    assert split(corpus, "valid").lines == 1


def test_files_that_change_after_they_were_opened_are_noticed(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    files = open_corpus(files_data(tmp_path), tmp_path).splits["train"]
    check_unchanged(files)
    files.target.write_bytes(files.target.read_bytes().replace(b"dog", b"cow", 1))
    with pytest.raises(UserError, match="changed while it was being read"):
        check_unchanged(files)


# --- the built-in language -------------------------------------------------------------------


def test_the_built_in_language_is_written_once_and_then_read_as_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_corpus(grammar_data(), tmp_path)
    assert first.name == "grammar"
    assert {name: files.lines for name, files in first.splits.items()} == {
        "train": 40,
        "valid": 5,
        "test": 6,
        "long": 3,
    }
    assert read_lines(split(first, "long").target) == grammar.generate(grammar_data())["long"][1]

    def unwanted(config: object) -> None:
        raise AssertionError("generated again")

    monkeypatch.setattr(grammar, "generate", unwanted)
    assert open_corpus(grammar_data(), tmp_path) == first


@pytest.mark.parametrize("harm", ["delete", "truncate", "alter", "unlist"])
def test_a_damaged_copy_of_the_built_in_language_is_written_again(tmp_path: Path, harm: str) -> None:
    first = open_corpus(grammar_data(), tmp_path)
    path = first.splits["long"].source
    if harm == "delete":
        path.unlink()
    elif harm == "truncate":
        path.write_bytes(path.read_bytes()[:-10])
    elif harm == "alter":
        path.write_bytes(path.read_bytes().swapcase())
    else:
        (path.parent / "corpus.json").write_text("{", encoding="utf-8")
    assert open_corpus(grammar_data(), tmp_path) == first


def test_other_settings_of_the_built_in_language_are_another_corpus(tmp_path: Path) -> None:
    digests = {open_corpus(grammar_data(seed=seed), tmp_path).digest for seed in (1, 2)}
    assert len(digests) == 2


def _open(cache_dir: Path) -> str:
    return open_corpus(grammar_data(), cache_dir).digest


def test_several_processes_at_once_get_the_same_corpus(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        digests = pool.map(_open, [tmp_path] * 3, chunksize=1)
    assert len(set(digests)) == 1
    assert [path.name for path in (tmp_path / "corpora").iterdir() if path.name.endswith(".partial")] == []
