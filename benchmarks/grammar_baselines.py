"""How far a dictionary alone gets on the built-in language: word-for-word translation, scored on test.

The dictionary is learned from the training pairs by expectation maximisation (IBM model 1, Brown et
al. 1993): each source word gets the target word it most often gives rise to. Words never seen are
copied, which is right for names. Order, agreement and ambiguity are what it cannot know.

    python -m benchmarks.grammar_baselines
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import cast

import sacrebleu

from xformer.config import schema
from xformer.config.compose import compose
from xformer.data.grammar import generate


def learn_dictionary(sources: Sequence[str], targets: Sequence[str], rounds: int = 5) -> dict[str, str]:
    """Return for each source word the target word that IBM model 1 finds most probable."""
    pairs = [(source.split(), target.split()) for source, target in zip(sources, targets, strict=True)]
    # Uniform at first: any constant does, since only ratios within a sentence matter.
    chance: Mapping[str, Mapping[str, float]] = defaultdict(lambda: defaultdict(lambda: 1.0))
    for _ in range(rounds):
        counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for source, target in pairs:
            for word in target:
                total = sum(chance[given][word] for given in source)
                for given in source:
                    counts[given][word] += chance[given][word] / total
        shares: dict[str, dict[str, float]] = {}
        for given, row in counts.items():
            whole = sum(row.values())
            shares[given] = {word: count / whole for word, count in row.items()}
        chance = shares
    return {given: max(row, key=lambda word: row[word]) for given, row in chance.items()}


def translate(line: str, dictionary: dict[str, str]) -> str:
    """Put each word's translation in the word's place."""
    return " ".join(dictionary.get(word, word) for word in line.split())


def main() -> None:
    corpus = generate(cast(schema.GrammarData, compose(["data=grammar"]).data))
    dictionary = learn_dictionary(*corpus["train"])
    sources, references = corpus["test"]
    hypotheses = [translate(line, dictionary) for line in sources]
    print(f"dictionary         BLEU {sacrebleu.corpus_bleu(hypotheses, [references]).score:5.1f}")
    print(f"the source itself  BLEU {sacrebleu.corpus_bleu(sources, [references]).score:5.1f}")


if __name__ == "__main__":
    main()
