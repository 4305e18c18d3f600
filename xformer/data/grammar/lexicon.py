"""The words of the two languages: open classes invented from a fixed seed, closed classes by hand.

The lexicon belongs to the language, not to a corpus: every seed of the data gives other sentences
of the same language, so that a trained model can be tried on fresh text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from xformer.data.grammar.draw import Draw, Zipf

_SEED = 1706_03762
_SOURCE_CONSONANTS, _SOURCE_VOWELS = "bdgklmnprstv", "aeiou"
_TARGET_CONSONANTS, _TARGET_VOWELS = "fhjlmnrstwxz", "aeioöü"
_NAME_CONSONANTS, _NAME_VOWELS = "bdfgklmnprstvz", "aeiou"


class Gender(IntEnum):
    """Noun class of the target language, nowhere to be seen in the source."""

    A = 0
    E = 1
    O = 2  # noqa: E741


class Case(IntEnum):
    """Case of the target language: which part a noun phrase plays in its clause."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    OBLIQUE = 2


class Valency(IntEnum):
    """What a verb takes beside its subject: nothing, an object, or a clause."""

    INTRANSITIVE = 0
    TRANSITIVE = 1
    CLAUSAL = 2


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun with one sense, or two of which the group of the governing verb decides."""

    source: str
    targets: tuple[str, ...]
    genders: tuple[Gender, ...]
    animate: bool


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with one sense, or two of which the animacy of its object (else subject) decides."""

    source: str
    targets: tuple[str, ...]
    valency: Valency
    group: int


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective with one sense, or two of which the animacy of its noun decides."""

    source: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Particle:
    """A word that never changes: adverb, preposition, conjunction, word of time."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TimeWord(Particle):
    """A word of time and the ending that it calls for on every verb of the sentence."""

    tense: str


@dataclass(frozen=True, slots=True)
class Link(Particle):
    """A conjunction; `fronted` ones put their clause before the main one in the target."""

    fronted: bool


class Source:
    """Closed-class words and endings of the source language."""

    ARTICLE, OF, WHO, THAT, NOT, AND, PRONOUN = "la", "ro", "ke", "ta", "ne", "e", "su"
    PLURAL = "i"


class Target:
    """Closed-class words and endings of the target language, indexed by gender, number and case."""

    THAT, NOT, AND = "da", "nu", "ha"
    CONCORD = (("a", "as"), ("e", "es"), ("o", "os"))  # gender, number: verbs and adjectives
    PRONOUN = (("vja", "vjas"), ("vje", "vjes"), ("vjo", "vjos"))  # gender, number
    NOUN = (("", "ir"), ("em", "im"), ("ul", "uv"))  # case, number
    ARTICLE = tuple(
        tuple((f"{c}{v}p", f"{c}{v}ps") for v in "aeo") for c in ("", "d", "g")
    )  # case, gender, number
    WHO = tuple(tuple((f"{c}{v}", f"{c}{v}s") for v in "aeo") for c in ("k", "kj"))  # case, gender, number
    PRESENT, PAST, FUTURE = "", "et", "ov"


@dataclass(frozen=True)
class Lexicon:
    """Every open-class word, each class in order of rank."""

    nouns: Zipf[Noun]
    verbs: tuple[Zipf[Verb], ...]  # by valency
    adjectives: Zipf[Adjective]
    adverbs: Zipf[Particle]
    prepositions: Zipf[Particle]
    times: Zipf[TimeWord]
    links: Zipf[Link]
    name_syllables: tuple[str, ...]


class _Coiner:
    """Coins stems that end in a consonant and are unlike all that were coined before.

    Function words and endings hold other letters or end in a vowel, so no stem looks like one.
    Frequent words are short, rare ones long (Zipf's law of abbreviation).
    """

    def __init__(self) -> None:
        self.draw = Draw(_SEED)
        self._taken: set[str] = set()

    def source(self, rank: int) -> str:
        return self._coin(_SOURCE_CONSONANTS, _SOURCE_VOWELS, rank)

    def target(self, rank: int) -> str:
        return self._coin(_TARGET_CONSONANTS, _TARGET_VOWELS, rank)

    def _coin(self, consonants: str, vowels: str, rank: int) -> str:
        pick = self.draw.pick
        while True:
            first = pick(consonants) + pick(vowels) if rank >= 24 else ""
            stem = first + pick(consonants) + pick(vowels) + pick(consonants)
            if stem not in self._taken:
                self._taken.add(stem)
                return stem


def _every(rank: int, nth: int) -> bool:
    """Spread a property evenly over the ranks, beginning with a frequent word."""
    return rank % nth == 2


@cache
def lexicon() -> Lexicon:
    """Return the words of the language; the same objects on every call."""
    coin = _Coiner()

    def senses(rank: int, ambiguous: bool) -> tuple[str, ...]:
        return tuple(coin.target(rank) for _ in range(1 + ambiguous))

    def noun(rank: int) -> Noun:
        targets = senses(rank, ambiguous=_every(rank, 6))
        first = coin.draw.below(3)
        genders = tuple(Gender((first + sense) % 3) for sense in range(len(targets)))
        return Noun(coin.source(rank), targets, genders, animate=coin.draw.chance(50))

    def verb(rank: int, valency: Valency) -> Verb:
        ambiguous = valency is not Valency.CLAUSAL and _every(rank, 4)
        return Verb(coin.source(rank), senses(rank, ambiguous), valency, group=coin.draw.below(2))

    def particle(rank: int) -> Particle:
        return Particle(coin.source(rank), coin.target(rank))

    def time(rank: int) -> TimeWord:
        tense = (Target.PAST, Target.FUTURE, Target.PRESENT)[rank % 3]
        return TimeWord(coin.source(rank), coin.target(rank), tense)

    counts = {Valency.INTRANSITIVE: 30, Valency.TRANSITIVE: 50, Valency.CLAUSAL: 10}
    return Lexicon(
        nouns=Zipf([noun(rank) for rank in range(120)], shift=4),
        verbs=tuple(Zipf([verb(rank, v) for rank in range(counts[v])], shift=4) for v in Valency),
        adjectives=Zipf(
            [Adjective(coin.source(rank), senses(rank, _every(rank, 5))) for rank in range(40)], shift=4
        ),
        adverbs=Zipf([particle(rank) for rank in range(16)], shift=4),
        prepositions=Zipf([particle(rank) for rank in range(8)], shift=2),
        times=Zipf([time(rank) for rank in range(9)], shift=4),
        links=Zipf(
            [Link(coin.source(rank), coin.target(rank), fronted=rank % 3 == 1) for rank in range(6)], shift=2
        ),
        name_syllables=tuple(c + v for c in _NAME_CONSONANTS for v in _NAME_VOWELS),
    )
