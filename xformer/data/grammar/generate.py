"""From a seed to parallel text: distinct sentences, dealt to the splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xformer.config import schema
from xformer.data.grammar.draw import Draw
from xformer.data.grammar.sentences import ORDINARY, Habit, Speaker
from xformer.data.grammar.source import source_line
from xformer.data.grammar.target import target_line

# Codes that ISO 639 leaves to local use.
SOURCE_LANGUAGE = "qma"
TARGET_LANGUAGE = "qno"
# Part of the identity of the generated text: raised whenever a rule or the lexicon changes.
GRAMMAR_VERSION = 1

SHORTEST, LONGEST = 3, 40  # words, on either side, of all splits but `long`
LONG_SHORTEST, LONG_LONGEST = 41, 60  # words, on either side, of `long`

TALKATIVE = replace(
    ORDINARY, more_clauses=60, linked=60, owner=25, relative=40, place=40, clausal=25, pair=16
)

Pairs = tuple[list[str], list[str]]


def generate(config: schema.GrammarData) -> dict[str, Pairs]:
    """Return the source and target lines of `train`, `valid`, `test` and `long`.

    No source line occurs twice, within a split or across splits. All but `long` are dealt from one
    shuffled pile, so that they are samples of the same distribution; every sentence of `long` has more
    words on both sides than any of the others on either. Depends on the configuration and
    `GRAMMAR_VERSION` alone, to the byte.
    """
    sizes = {"train": config.train_pairs, "valid": config.valid_pairs, "test": config.test_pairs}
    ordinary = _distinct(2 * config.seed, ORDINARY, SHORTEST, LONGEST)
    pile = Draw(2 * config.seed).shuffled([next(ordinary) for _ in range(sum(sizes.values()))])
    splits = {}
    for name, size in sizes.items():
        dealt, pile = pile[:size], pile[size:]
        splits[name] = _columns(dealt)
    long = _distinct(2 * config.seed + 1, TALKATIVE, LONG_SHORTEST, LONG_LONGEST)
    splits["long"] = _columns([next(long) for _ in range(config.long_pairs)])
    return splits


def _distinct(seed: int, habit: Habit, shortest: int, longest: int) -> Iterator[tuple[str, str]]:
    """Yield pairs without end, each new, both sides from `shortest` to `longest` words long."""
    speaker, seen = Speaker(Draw(seed), habit), set[str]()
    while True:
        sentence = speaker.sentence()
        source = source_line(sentence)
        if source in seen or not shortest <= source.count(" ") + 1 <= longest:
            continue
        target = target_line(sentence)
        if shortest <= target.count(" ") + 1 <= longest:
            seen.add(source)
            yield source, target


def _columns(pairs: list[tuple[str, str]]) -> Pairs:
    return [source for source, _ in pairs], [target for _, target in pairs]
