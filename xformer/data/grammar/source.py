"""The source language: subject, verb, object; no gender, no case, no agreement; the order tells all."""

from __future__ import annotations

from collections.abc import Iterator

from xformer.data.grammar.lexicon import Source
from xformer.data.grammar.sentences import Clause, Gap, Name, Nominal, Pair, Pronoun, Sentence


def source_line(sentence: Sentence) -> str:
    """Word a sentence in the source language."""
    return " ".join(_sentence(sentence))


def _sentence(sentence: Sentence) -> Iterator[str]:
    for number, clause in enumerate(sentence.clauses):
        if number:
            yield Source.THEN
        yield from _clause(clause)
    if sentence.linked:
        link, clause = sentence.linked
        yield link.source
        yield from _clause(clause)
    if sentence.time:
        yield sentence.time.source
    if sentence.question:
        yield Source.ASK


def _clause(clause: Clause) -> Iterator[str]:
    yield from _nominal(clause.subject)
    if clause.negated:
        yield Source.NOT
    yield clause.verb.source
    if clause.adverb:
        yield clause.adverb.source
    if clause.place:
        preposition, where = clause.place
        yield preposition.source
        yield from _nominal(where)
    if clause.object:
        yield from _nominal(clause.object)
    if clause.complement:
        yield Source.THAT
        yield from _clause(clause.complement)


def _nominal(nominal: Nominal) -> Iterator[str]:
    match nominal:
        case Gap():
            return
        case Name():
            yield nominal.text
            return
        case Pronoun():
            yield Source.PRONOUN
            return
        case Pair():
            yield from _nominal(nominal.first)
            yield Source.AND
            yield from _nominal(nominal.second)
            return
    if nominal.definite:
        yield Source.ARTICLE
    yield from (adjective.source for adjective in nominal.adjectives)
    yield nominal.noun.source + (Source.PLURAL if nominal.plural else "")
    if nominal.owner:
        yield Source.OF
        yield from _nominal(nominal.owner)
    if nominal.relative:
        yield Source.WHO
        yield from _clause(nominal.relative)
