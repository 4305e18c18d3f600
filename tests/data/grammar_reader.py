"""Reads a source sentence back into its tree, with nothing but the text and the lexicon.

That this is possible, without ever looking beyond the next word, shows that the source says all there
is to say: a sentence has one tree, and so, by rule, one translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xformer.data.grammar.lexicon import Noun, Source, Valency, lexicon
from xformer.data.grammar.sentences import Clause, Gap, Name, Nominal, NounPhrase, Pair, Pronoun, Sentence

Word = TypeVar("Word")

_WORDS = lexicon()
_NOUNS = {noun.source: noun for noun in _WORDS.nouns.items}
_VERBS = {verb.source: verb for verbs in _WORDS.verbs for verb in verbs.items}
_ADJECTIVES = {adjective.source: adjective for adjective in _WORDS.adjectives.items}
_ADVERBS = {adverb.source: adverb for adverb in _WORDS.adverbs.items}
_PREPOSITIONS = {preposition.source: preposition for preposition in _WORDS.prepositions.items}
_TIMES = {time.source: time for time in _WORDS.times.items}
_LINKS = {link.source: link for link in _WORDS.links.items}


def read_source(line: str) -> Sentence:
    """Return the one tree that the line can be the source wording of."""
    return _Reader(line).sentence()


class _Reader:
    """The words not yet understood; every method takes from their front what it understands."""

    def __init__(self, line: str) -> None:
        self._words = line.split(" ")

    def sentence(self) -> Sentence:
        clauses = [self._clause()]
        while self._took(Source.THEN):
            clauses.append(self._clause())
        link = self._take(_LINKS)
        linked = (link, self._clause()) if link else None
        time = self._take(_TIMES)
        question = self._took(Source.ASK)
        assert not self._words, f"not understood: {self._words}"
        return Sentence(tuple(clauses), linked, time, question)

    def _clause(self) -> Clause:
        return self._predicate(self._nominal(), None)

    def _relative(self) -> Clause:
        if self._front() == Source.NOT or self._front() in _VERBS:
            return self._predicate(Gap(), None)
        return self._predicate(self._nominal(), Gap())

    def _predicate(self, subject: Nominal, gap: Gap | None) -> Clause:
        negated = self._took(Source.NOT)
        verb = self._take(_VERBS)
        assert verb, f"no verb: {self._words}"
        adverb = self._take(_ADVERBS)
        preposition = self._take(_PREPOSITIONS)
        place = (preposition, self._nominal()) if preposition else None
        thing: Nominal | None = gap
        if verb.valency is Valency.TRANSITIVE and not gap:
            thing = self._nominal()
        complement = None
        if verb.valency is Valency.CLAUSAL:
            assert self._took(Source.THAT), f"no clause: {self._words}"
            complement = self._clause()
        return Clause(subject, negated, verb, adverb, place, thing, complement)

    def _nominal(self) -> Nominal:
        if self._took(Source.PRONOUN):
            return Pronoun()
        first = self._named_or_noun()
        return Pair(first, self._named_or_noun()) if self._took(Source.AND) else first

    def _named_or_noun(self) -> Name | NounPhrase:
        if self._front()[0].isupper():
            return Name(self._words.pop(0))
        definite = self._took(Source.ARTICLE)
        adjectives = []
        while adjective := self._take(_ADJECTIVES):
            adjectives.append(adjective)
        noun, plural = self._noun()
        owner = self._named_or_noun() if self._took(Source.OF) else None
        relative = self._relative() if self._took(Source.WHO) else None
        return NounPhrase(noun, plural, definite, tuple(adjectives), owner, relative)

    def _noun(self) -> tuple[Noun, bool]:
        word = self._words.pop(0)
        return (_NOUNS[word], False) if word in _NOUNS else (_NOUNS[word.removesuffix(Source.PLURAL)], True)

    def _front(self) -> str:
        return self._words[0] if self._words else ""

    def _took(self, word: str) -> bool:
        """Take the word if it stands in front."""
        if self._front() != word:
            return False
        del self._words[0]
        return True

    def _take(self, words: Mapping[str, Word]) -> Word | None:
        """Take the front word if it is one of these."""
        if self._front() not in words:
            return None
        return words[self._words.pop(0)]
