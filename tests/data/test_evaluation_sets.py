"""Test sets from any files, and long sentences made of neighbours."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from xformer.data.evaluation_sets import content_name, from_files, joined
from xformer.data.prepare import EvaluationSet
from xformer.data.tokenizer import Tokenizer, train_tokenizer
from xformer.errors import UserError


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["some text to learn from"] * 4, 262)


def write(folder: Path, sources: str, references: str) -> tuple[Path, Path]:
    (folder / "set.src").write_text(sources)
    (folder / "set.ref.gz").write_bytes(gzip.compress(references.encode()))
    return folder / "set.src", folder / "set.ref.gz"


def test_files_are_read_as_they_stand(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = from_files(tokenizer, *write(tmp_path, "a\n\n b \n", 'x  y\n"\nz'))
    assert data.source_lines == ["a", "", " b "]
    assert data.reference_lines == ["x  y", '"', "z"]
    assert [list(data.store.source(i)) for i in range(3)] == tokenizer.encode(data.source_lines)
    assert [list(data.store.target(i)) for i in range(3)] == tokenizer.encode(data.reference_lines)


@pytest.mark.parametrize(
    ("sources", "references", "message"),
    [("a\nb\n", "x\n", r"set.src has 2 lines and .*set.ref.gz has 1"), ("", "", "are empty")],
)
def test_uneven_and_empty_files_are_refused(
    tmp_path: Path, tokenizer: Tokenizer, sources: str, references: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        from_files(tokenizer, *write(tmp_path, sources, references))


def test_the_name_changes_with_the_text_and_not_with_the_folder(tmp_path: Path, tokenizer: Tokenizer) -> None:
    def name(folder: str, sources: str, references: str) -> str:
        (tmp_path / folder).mkdir()
        source, reference = write(tmp_path / folder, sources, references)
        return content_name(source, from_files(tokenizer, source, reference))

    first = name("1", "a\nb\n", "x\ny\n")
    assert first.startswith("set.src-")
    assert name("2", "a\nb\n", "x\ny\n") == first
    assert len({first, name("3", "a\nb\n", "x\nz\n"), name("4", "a\nc\n", "x\ny\n")}) == 3


def test_neighbours_are_joined_on_both_sides_and_none_is_dropped(tokenizer: Tokenizer) -> None:
    data = EvaluationSet.of(tokenizer, list("abcde"), list("vwxyz"))
    pairs = joined(tokenizer, data, 2)
    assert pairs.source_lines == ["a b", "c d", "e"]
    assert pairs.reference_lines == ["v w", "x y", "z"]
    assert [list(pairs.store.source(i)) for i in range(3)] == tokenizer.encode(["a b", "c d", "e"])
    assert joined(tokenizer, data, 9).source_lines == ["a b c d e"]
    assert joined(tokenizer, data, 1) is data
