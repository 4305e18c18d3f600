"""What a sentence says, before either language has worded it: syntax trees, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xformer.data.grammar.draw import Draw
from xformer.data.grammar.lexicon import Adjective, Link, Noun, Particle, TimeWord, Valency, Verb, lexicon


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
    owner: NounPhrase | Name | None
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
    """How much a speaker says: chances in percent; those of what can nest halve with every level."""

    definite: int
    plural: int
    adjective: int
    name: int
    transitive: int
    negated: int
    adverb: int
    time: int
    question: int
    pronoun: int
    more_clauses: int
    linked: int
    # What can nest.
    pair: int
    owner: int
    relative: int
    place: int
    clausal: int


ORDINARY = Habit(
    definite=50,
    plural=30,
    adjective=16,
    name=6,
    transitive=60,
    negated=6,
    adverb=6,
    time=16,
    question=5,
    pronoun=20,
    more_clauses=2,
    linked=5,
    pair=3,
    owner=4,
    relative=6,
    place=5,
    clausal=4,
)
TALKATIVE = replace(
    ORDINARY, adjective=25, more_clauses=60, linked=60, pair=16, owner=25, relative=40, place=40, clausal=25
)


class Speaker:
    """Draws sentences, one after the other, by a habit."""

    def __init__(self, draw: Draw, habit: Habit) -> None:
        self._draw = draw
        self._chance = draw.chance
        self._habit = habit
        self._words = lexicon()

    def sentence(self) -> Sentence:
        """Draw the next sentence."""
        chance, habit, words = self._chance, self._habit, self._words
        clauses = [self._clause(self._nominal(0), 0)]
        while chance(habit.more_clauses):
            clauses.append(self._clause(self._later_subject(0), 0))
        linked = None
        if chance(habit.linked):
            linked = words.links.draw(self._draw), self._clause(self._later_subject(1), 1)
        time = words.times.draw(self._draw) if chance(habit.time) else None
        return Sentence(tuple(clauses), linked, time, question=chance(habit.question))

    def _clause(self, subject: Nominal, depth: int) -> Clause:
        if self._nests(self._habit.clausal, depth):
            return self._predicate(subject, Valency.CLAUSAL, None, depth)
        if self._chance(self._habit.transitive):
            return self._predicate(subject, Valency.TRANSITIVE, self._nominal(depth), depth)
        return self._predicate(subject, Valency.INTRANSITIVE, None, depth)

    def _relative(self, depth: int) -> Clause:
        """Draw a clause from which the subject or the object is missing."""
        if not self._chance(self._habit.transitive):
            return self._predicate(Gap(), Valency.INTRANSITIVE, None, depth)
        if self._chance(50):
            return self._predicate(Gap(), Valency.TRANSITIVE, self._nominal(depth), depth)
        return self._predicate(self._nominal(depth), Valency.TRANSITIVE, Gap(), depth)

    def _predicate(self, subject: Nominal, valency: Valency, thing: Nominal | None, depth: int) -> Clause:
        """Draw the verb and what comes with it; `thing` is the object of a transitive one."""
        habit, words = self._habit, self._words
        complement = None
        if valency is Valency.CLAUSAL:
            complement = self._clause(self._later_subject(depth + 1), depth + 1)
        place = None
        if self._nests(habit.place, depth):
            place = words.prepositions.draw(self._draw), self._noun_phrase(depth + 1)
        return Clause(
            subject=subject,
            negated=self._chance(habit.negated),
            verb=words.verbs[valency].draw(self._draw),
            adverb=words.adverbs.draw(self._draw) if self._chance(habit.adverb) else None,
            place=place,
            object=thing,
            complement=complement,
        )

    def _later_subject(self, depth: int) -> Nominal:
        """Draw a subject other than the sentence's first, which a pronoun can point back to."""
        return Pronoun() if self._chance(self._habit.pronoun) else self._nominal(depth)

    def _nominal(self, depth: int) -> Nominal:
        if self._nests(self._habit.pair, depth):
            return Pair(self._name_or(self._plain), self._name_or(self._plain))
        return self._name_or(lambda: self._noun_phrase(depth))

    def _noun_phrase(self, depth: int) -> NounPhrase:
        if self._nests(self._habit.owner, depth):
            return self._plain(owner=self._name_or(lambda: self._noun_phrase(depth + 1)))
        if self._nests(self._habit.relative, depth):
            return self._plain(relative=self._relative(depth + 1))
        return self._plain()

    def _plain(self, owner: NounPhrase | Name | None = None, relative: Clause | None = None) -> NounPhrase:
        chance, habit = self._chance, self._habit
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

    def _name_or(self, noun_phrase: Callable[[], NounPhrase]) -> NounPhrase | Name:
        """Draw a name of two or three syllables, or else call for a noun phrase."""
        if not self._chance(self._habit.name):
            return noun_phrase()
        syllables = [self._draw.pick(self._words.name_syllables) for _ in range(2 + self._chance(30))]
        return Name("".join(syllables).capitalize())

    def _nests(self, percent: int, depth: int) -> bool:
        return self._chance(percent >> depth)
