"""Small corpora and configurations for the tests of the data room."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from xformer.config import schema
from xformer.config.compose import compose

# Enough repetition for two dozen merges.
WORDS = ("the", "cat", "sat", "on", "the", "mat", "and", "a", "dog", "ran", "under", "the", "house")


def sentences(count: int, shift: int = 0) -> list[str]:
    """`count` distinct sentences of 1 to 13 words."""
    return [
        " ".join(WORDS[(i + shift + j) % len(WORDS)] for j in range(i % 13 + 1)) + f" {i}"
        for i in range(count)
    ]


def write_corpus(
    folder: Path,
    splits: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    languages: tuple[str, str] = ("en", "de"),
) -> None:
    """Write DIR/SPLIT.LANGUAGE files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, sides in splits.items():
        for language, lines in zip(languages, sides, strict=True):
            (folder / f"{name}.{language}").write_bytes("".join(f"{line}\n" for line in lines).encode())


def write_small_corpus(folder: Path) -> None:
    """60 training pairs, 5 dev, 7 test."""
    write_corpus(
        folder,
        {
            "train": (sentences(60), sentences(60, shift=3)),
            "valid": (sentences(5), sentences(5, shift=3)),
            "test": (sentences(7), sentences(7, shift=3)),
        },
    )


def files_data(folder: Path, **changes: object) -> schema.FilesData:
    """`data=files data.dir=FOLDER data.source=en data.target=de`."""
    settings: dict[str, object] = {
        "kind": "files",
        "dir": str(folder),
        "source": "en",
        "target": "de",
        "train": "train",
        "valid": "valid",
        "test": "test",
        "max_length": 256,
    }
    return schema.FilesData(**{**settings, **changes})  # type: ignore[arg-type]


@cache
def _base() -> schema.Config:
    return compose([])


def config(
    folder: Path, *, vocabulary: int = 270, cache_dir: Path | None = None, **data: object
) -> schema.Config:
    """A whole configuration over the corpus in `folder`."""
    return dataclasses.replace(
        _base(),
        data=files_data(folder, **data),
        tokenizer=schema.Tokenizer(kind="bpe", vocabulary=vocabulary),
        cache_dir=str(cache_dir or folder / "cache"),
    )


def grammar_data(**changes: object) -> schema.GrammarData:
    """A very small piece of the built-in language."""
    settings: dict[str, object] = {
        "kind": "grammar",
        "seed": 1,
        "train_pairs": 40,
        "valid_pairs": 5,
        "test_pairs": 6,
        "long_pairs": 3,
        "max_length": 128,
    }
    return schema.GrammarData(**{**settings, **changes})  # type: ignore[arg-type]
