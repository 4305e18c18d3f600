"""What a sentence says, before either language has worded it: syntax trees, and how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass

from xformer.data.grammar.draw import Draw
from xformer.data.grammar.lexicon import (
    Adjective,
    Lexicon,
    Link,
    Noun,
    Particle,
    TimeWord,
    Valency,
    Verb,
    lexicon,
)


@dataclass(frozen=True, slots=True)
class Name:
    """A person's name, made of syllables, the same in both languages."""

    text: str


@dataclass(frozen=True, slots=True)
class Pronoun:
    """Stands for the subject of the sentence's first clause."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The place inside a relative clause where the noun it belongs to is missing."""


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what belongs to it; it has an owner or a relative clause, never both."""

    noun: Noun
    plural: bool
    definite: bool
    adjectives: tuple[Adjective, ...]
    owner: Nominal | None
    relative: Clause | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two noun phrases joined by `and`."""

    first: NounPhrase | Name
    second: NounPhrase | Name


Nominal = NounPhrase | Name | Pronoun | Gap | Pair


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb with everything around it; `object` or `complement` exactly as its valency asks."""

    subject: Nominal
    negated: bool
    verb: Verb
    adverb: Particle | None
    place: tuple[Particle, Nominal] | None
    object: Nominal | None
    complement: Clause | None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One or more main clauses, perhaps a linked one, perhaps a word of time; a statement or a question."""

    clauses: tuple[Clause, ...]
    linked: tuple[Link, Clause] | None
    time: TimeWord | None
    question: bool


@dataclass(frozen=True, slots=True)
class Habit:
    """How much a speaker says: chances in percent; those of nesting halve with every level of depth."""

    definite: int
    plural: int
    adjective: int
    name: int
    pair: int
    owner: int
    relative: int
    pronoun: int
    negated: int
    adverb: int
    place: int
    clausal: int
    transitive: int
    more_clauses: int
    linked: int
    time: int
    question: int


ORDINARY = Habit(
    definite=60,
    plural=35,
    adjective=30,
    name=14,
    pair=8,
    owner=12,
    relative=22,
    pronoun=50,
    negated=15,
    adverb=22,
    place=22,
    clausal=12,
    transitive=65,
    more_clauses=15,
    linked=25,
    time=50,
    question=12,
)


class Speaker:
    """Draws sentences, one after the other, by a habit."""

    def __init__(self, draw: Draw, habit: Habit) -> None:
        self._draw = draw
        self._habit = habit
        self._words: Lexicon = lexicon()

    def sentence(self) -> Sentence:
        """Draw the next sentence."""
        chance, habit = self._draw.chance, self._habit
        clauses = [self._clause(self._nominal(0), 0)]
        while chance(habit.more_clauses):
            clauses.append(self._clause(self._later_subject(0), 0))
        linked = None
        if chance(habit.linked):
            linked = (self._words.links.draw(self._draw), self._clause(self._later_subject(1), 1))
        return Sentence(
            clauses=tuple(clauses),
            linked=linked,
            time=self._words.times.draw(self._draw) if chance(habit.time) else None,
            question=chance(habit.question),
        )

    def _clause(self, subject: Nominal, depth: int) -> Clause:
        if self._nested(self._habit.clausal, depth):
            return self._rest(subject, Valency.CLAUSAL, None, depth)
        if self._draw.chance(self._habit.transitive):
            return self._rest(subject, Valency.TRANSITIVE, self._nominal(depth), depth)
        return self._rest(subject, Valency.INTRANSITIVE, None, depth)

    def _rest(self, subject: Nominal, valency: Valency, thing: Nominal | None, depth: int) -> Clause:
        chance, habit = self._draw.chance, self._habit
        complement = None
        if valency is Valency.CLAUSAL:
            complement = self._clause(self._later_subject(depth + 1), depth + 1)
        place = None
        if self._nested(habit.place, depth):
            place = (self._words.prepositions.draw(self._draw), self._noun_phrase(depth + 1))
        return Clause(
            subject=subject,
            negated=chance(habit.negated),
            verb=self._words.verbs[valency].draw(self._draw),
            adverb=self._words.adverbs.draw(self._draw) if chance(habit.adverb) else None,
            place=place,
            object=thing,
            complement=complement,
        )

    def _later_subject(self, depth: int) -> Nominal:
        return Pronoun() if self._draw.chance(self._habit.pronoun) else self._nominal(depth)

    def _nominal(self, depth: int) -> Nominal:
        if self._nested(self._habit.pair, depth):
            return Pair(self._plain(), self._plain())
        return self._name() if self._draw.chance(self._habit.name) else self._noun_phrase(depth)

    def _plain(self) -> NounPhrase | Name:
        return self._name() if self._draw.chance(self._habit.name) else self._bare(None, None)

    def _noun_phrase(self, depth: int) -> NounPhrase:
        if self._nested(self._habit.owner, depth):
            owner = self._name() if self._draw.chance(self._habit.name) else self._noun_phrase(depth + 1)
            return self._bare(owner, None)
        if self._nested(self._habit.relative, depth):
            return self._bare(None, self._relative(depth + 1))
        return self._bare(None, None)

    def _relative(self, depth: int) -> Clause:
        transitive = self._draw.chance(self._habit.transitive)
        if not transitive:
            return self._rest(Gap(), Valency.INTRANSITIVE, None, depth)
        if self._draw.chance(50):
            return self._rest(Gap(), Valency.TRANSITIVE, self._nominal(depth), depth)
        return self._rest(self._nominal(depth), Valency.TRANSITIVE, Gap(), depth)

    def _bare(self, owner: Nominal | None, relative: Clause | None) -> NounPhrase:
        chance, habit = self._draw.chance, self._habit
        adjectives: list[Adjective] = []
        while len(adjectives) < 2 and chance(habit.adjective):
            adjectives.append(self._words.adjectives.draw(self._draw))
        return NounPhrase(
            noun=self._words.nouns.draw(self._draw),
            plural=chance(habit.plural),
            definite=chance(habit.definite),
            adjectives=tuple(adjectives),
            owner=owner,
            relative=relative,
        )

    def _name(self) -> Name:
        syllables = [self._draw.pick(self._words.name_syllables) for _ in range(2 + self._draw.chance(60))]
        return Name("".join(syllables).capitalize())

    def _nested(self, percent: int, depth: int) -> bool:
        return self._draw.chance(percent >> depth)
