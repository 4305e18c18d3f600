"""The target language: three genders, two numbers, three cases; verbs last in subordinate clauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xformer.data.grammar.lexicon import Case, Gender, Target, Verb
from xformer.data.grammar.sentences import Clause, Gap, Name, Nominal, NounPhrase, Pair, Pronoun, Sentence

_NAME_GENDERS = {"a": Gender.A, "e": Gender.A, "i": Gender.A, "o": Gender.E, "u": Gender.E}


@dataclass(frozen=True, slots=True)
class Referent:
    """What other words must know of the person or thing that a noun phrase stands for."""

    gender: Gender
    plural: bool

    @property
    def thing(self) -> bool:
        return self.gender is Gender.O


def target_line(sentence: Sentence) -> str:
    """Word a sentence in the target language."""
    return " ".join(_Wording(sentence).sentence())


def _sense(noun_phrase: NounPhrase, verb: Verb) -> int:
    """Which sense of the noun is meant: the group of the verb that governs it decides."""
    return verb.group % len(noun_phrase.noun.targets)


class _Wording:
    """The wording of one sentence, whose tense and topic reach into every clause."""

    def __init__(self, sentence: Sentence) -> None:
        self._sentence = sentence
        self._tense = sentence.time.tense if sentence.time else Target.PRESENT
        first = sentence.clauses[0]
        self._topic = self._referent(first.subject, first.verb, None)

    def sentence(self) -> Iterator[str]:
        sentence = self._sentence
        if sentence.question:
            yield Target.ASK
        if sentence.time:
            yield sentence.time.target
        if sentence.linked and sentence.linked[0].fronted:
            yield from self._linked_clause()
        for number, clause in enumerate(sentence.clauses):
            if number:
                yield Target.THEN
            yield from self._main_clause(clause)
        if sentence.linked and not sentence.linked[0].fronted:
            yield from self._linked_clause()

    def _linked_clause(self) -> Iterator[str]:
        assert self._sentence.linked
        link, clause = self._sentence.linked
        yield link.target
        yield from self._subordinate_clause(clause, None)

    def _main_clause(self, clause: Clause) -> Iterator[str]:
        """Subject, verb, object, place, adverb; in a question the verb comes first."""
        subject = list(self._subject(clause))
        verb = self._verb(clause, None)
        yield from [verb, *subject] if self._sentence.question else [*subject, verb]
        yield from self._object(clause)
        yield from self._place(clause)
        if clause.adverb:
            yield clause.adverb.target
        if clause.negated:
            yield Target.NOT
        yield from self._complement(clause)

    def _subordinate_clause(self, clause: Clause, head: Referent | None) -> Iterator[str]:
        """Subject, adverb, place, object, verb."""
        yield from self._subject(clause)
        if clause.adverb:
            yield clause.adverb.target
        yield from self._place(clause)
        yield from self._object(clause)
        yield self._verb(clause, head)
        if clause.negated:
            yield Target.NOT
        yield from self._complement(clause)

    def _complement(self, clause: Clause) -> Iterator[str]:
        if clause.complement:
            yield Target.THAT
            yield from self._subordinate_clause(clause.complement, None)

    def _verb(self, clause: Clause, head: Referent | None) -> str:
        """The verb agrees with its subject; an ambiguous one looks at its object, or else its subject."""
        subject = self._referent(clause.subject, clause.verb, head)
        decisive = self._referent(clause.object, clause.verb, head) if clause.object else subject
        stem = clause.verb.targets[decisive.thing % len(clause.verb.targets)]
        return stem + self._tense + Target.CONCORD[subject.gender][subject.plural]

    def _subject(self, clause: Clause) -> Iterator[str]:
        return self._nominal(clause.subject, Case.NOMINATIVE, clause.verb)

    def _object(self, clause: Clause) -> Iterator[str]:
        """The object of a negated verb stands in the oblique case."""
        if clause.object:
            case = Case.OBLIQUE if clause.negated else Case.ACCUSATIVE
            yield from self._nominal(clause.object, case, clause.verb)

    def _place(self, clause: Clause) -> Iterator[str]:
        if clause.place:
            preposition, where = clause.place
            yield preposition.target
            yield from self._nominal(where, Case.OBLIQUE, clause.verb)

    def _nominal(self, nominal: Nominal, case: Case, verb: Verb) -> Iterator[str]:
        match nominal:
            case Gap():
                return
            case Name():
                yield nominal.text
            case Pronoun():
                yield Target.PRONOUN[self._topic.gender][self._topic.plural]
            case Pair():
                yield from self._nominal(nominal.first, case, verb)
                yield Target.AND
                yield from self._nominal(nominal.second, case, verb)
            case NounPhrase():
                yield from self._noun_phrase(nominal, case, verb)

    def _noun_phrase(self, phrase: NounPhrase, case: Case, verb: Verb) -> Iterator[str]:
        """Article, noun, adjectives in reverse; an owner goes before all of it, a relative clause after."""
        me = self._referent(phrase, verb, None)
        if phrase.owner:
            yield from self._nominal(phrase.owner, Case.OBLIQUE, verb)
        if phrase.definite:
            yield Target.ARTICLE[case][me.gender][me.plural]
        yield phrase.noun.targets[_sense(phrase, verb)] + (Target.PLURAL if phrase.plural else "")
        for adjective in reversed(phrase.adjectives):
            stem = adjective.targets[me.thing % len(adjective.targets)]
            yield stem + Target.CONCORD[me.gender][me.plural]
        if phrase.relative:
            role = isinstance(phrase.relative.object, Gap)
            yield Target.WHO[role][me.gender][me.plural]
            yield from self._subordinate_clause(phrase.relative, me)

    def _referent(self, nominal: Nominal, verb: Verb, head: Referent | None) -> Referent:
        """Return whom `nominal` stands for; `head` is the noun that a relative clause belongs to."""
        match nominal:
            case Gap():
                assert head
                return head
            case Name():
                return Referent(_NAME_GENDERS[nominal.text[-1]], plural=False)
            case Pronoun():
                return self._topic
            case Pair():
                first = self._referent(nominal.first, verb, head)
                return Referent(first.gender, plural=True)
            case NounPhrase():
                return Referent(nominal.noun.genders[_sense(nominal, verb)], nominal.plural)
