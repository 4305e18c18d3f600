"""From a seed to parallel text: distinct sentences, dealt to the splits."""

from __future__ import annotations

from collections.abc import Iterator

from xformer.config import schema
from xformer.data.grammar.draw import Draw
from xformer.data.grammar.sentences import ORDINARY, TALKATIVE, Speaker
from xformer.data.grammar.source import source_line
from xformer.data.grammar.target import target_line

# Codes that ISO 639 leaves to local use.
SOURCE_LANGUAGE = "qma"
TARGET_LANGUAGE = "qno"
# Part of the identity of the generated text: raised whenever a rule or the lexicon changes.
GRAMMAR_VERSION = 3

Pairs = tuple[list[str], list[str]]

ORDINARY_WORDS = range(3, 41)  # words a sentence has, on either side, in all splits but `long`
LONG_WORDS = range(41, 61)


def generate(config: schema.GrammarData) -> dict[str, Pairs]:
    """Return the source and target lines of `train`, `valid`, `test` and `long`.

    No source line occurs twice, within a split or across splits. All but `long` are dealt from one
    shuffled pile, so that they are samples of the same distribution; every sentence of `long` has more
    words on both sides than any of the others on either. Depends on the configuration and
    `GRAMMAR_VERSION` alone, to the byte.
    """
    sizes = {"train": config.train_pairs, "valid": config.valid_pairs, "test": config.test_pairs}
    ordinary = _distinct(Draw(3 * config.seed), ORDINARY_WORDS, talkative=3)
    pile = [next(ordinary) for _ in range(sum(sizes.values()))]
    pile = Draw(3 * config.seed + 1).shuffled(pile)
    splits = {}
    for name, size in sizes.items():
        splits[name] = _columns(pile[:size])
        del pile[:size]
    long = _distinct(Draw(3 * config.seed + 2), LONG_WORDS, talkative=1000)
    splits["long"] = _columns([next(long) for _ in range(config.long_pairs)])
    return splits


def _distinct(draw: Draw, words: range, talkative: int) -> Iterator[tuple[str, str]]:
    """Yield pairs without end, each new, `talkative` in a thousand sentences drawn by that habit."""
    speakers = Speaker(draw, ORDINARY), Speaker(draw, TALKATIVE)
    seen: set[str] = set()
    while True:
        sentence = speakers[draw.below(1000) < talkative].sentence()
        source = source_line(sentence)
        if source in seen or _words(source) not in words:
            continue
        target = target_line(sentence)
        if _words(target) in words:
            seen.add(source)
            yield source, target


def _words(line: str) -> int:
    return line.count(" ") + 1


def _columns(pairs: list[tuple[str, str]]) -> Pairs:
    return [source for source, _ in pairs], [target for _, target in pairs]
