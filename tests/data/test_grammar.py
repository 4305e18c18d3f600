"""The built-in language: the same bytes everywhere, one target for each source, splits that keep apart."""

from __future__ import annotations

from functools import cache

from xformer.config import schema
from xformer.data.grammar import generate


@cache
def corpus(seed: int = 1) -> dict[str, tuple[list[str], list[str]]]:
    return generate(
        schema.GrammarData(
            kind="grammar",
            seed=seed,
            train_pairs=2000,
            valid_pairs=200,
            test_pairs=200,
            long_pairs=50,
            max_length=128,
        )
    )


def words(line: str) -> int:
    return len(line.split(" "))


def test_every_split_has_the_size_asked_for() -> None:
    sizes = {name: (len(source), len(target)) for name, (source, target) in corpus().items()}
    assert sizes == {"train": (2000, 2000), "valid": (200, 200), "test": (200, 200), "long": (50, 50)}


def test_no_source_sentence_occurs_twice_in_any_splits() -> None:
    sources = [line for source, _ in corpus().values() for line in source]
    assert len(set(sources)) == len(sources)


def test_long_sentences_are_longer_on_both_sides_than_any_other_on_either() -> None:
    longest = max(words(x) for split in ("train", "valid", "test") for side in corpus()[split] for x in side)
    assert min(words(line) for side in corpus()["long"] for line in side) > longest


def test_another_seed_says_other_sentences() -> None:
    assert not set(corpus(1)["test"][0]) & set(corpus(2)["test"][0])
