"""The words of the two languages: stems coined from a fixed seed, little words and endings by hand.

The lexicon belongs to the language, not to a corpus: every seed of the data gives other sentences
of the same language, so that a trained model can be tried on fresh text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from xformer.data.grammar.draw import Draw, Zipf

_SEED = 1706_03762


class Gender(IntEnum):
    """Gender of a target noun, nowhere to be seen in the source; O is that of things without life."""

    A = 0
    E = 1
    O = 2  # noqa: E741


class Case(IntEnum):
    """Case of the target language: the part that a noun phrase plays in its clause."""

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
    """A noun with one sense, or two of different gender: the group of the governing verb decides."""

    source: str
    targets: tuple[str, ...]
    genders: tuple[Gender, ...]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with one sense, or two: whether its object (else its subject) is a thing decides."""

    source: str
    targets: tuple[str, ...]
    valency: Valency
    group: int


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective with one sense, or two: whether its noun is a thing decides."""

    source: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Particle:
    """A word that never changes: an adverb or a preposition."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TimeWord(Particle):
    """A word of time, last in the source, first in the target, that sets the tense of every verb."""

    tense: str


@dataclass(frozen=True, slots=True)
class Link(Particle):
    """A conjunction; the clause of a `fronted` one stands before the main clause in the target."""

    fronted: bool


class Source:
    """Little words and the one ending of the source language."""

    ARTICLE, OF, WHO, THAT, NOT, AND, THEN, PRONOUN, ASK = "la", "ro", "ke", "ta", "ne", "e", "u", "su", "mo"
    PLURAL = "i"


class Target:
    """Little words and endings of the target language."""

    THAT, NOT, AND, THEN, ASK = "da", "nu", "ha", "jo", "xu"
    PLURAL = "ir"
    PRESENT, PAST, FUTURE = "", "et", "ov"
    # By gender and number: the endings of verbs and adjectives, and the pronoun.
    CONCORD = (("a", "as"), ("e", "es"), ("o", "os"))
    PRONOUN = (("vja", "vjas"), ("vje", "vjes"), ("vjo", "vjos"))
    # By case, gender and number; a relative pronoun is never oblique.
    ARTICLE = (
        (("ap", "aps"), ("ep", "eps"), ("op", "ops")),
        (("dap", "daps"), ("dep", "deps"), ("dop", "dops")),
        (("gap", "gaps"), ("gep", "geps"), ("gop", "gops")),
    )
    WHO = (
        (("ya", "yas"), ("ye", "yes"), ("yo", "yos")),
        (("dya", "dyas"), ("dye", "dyes"), ("dyo", "dyos")),
    )


@dataclass(frozen=True)
class Lexicon:
    """Every word with a stem, each class in order of rank."""

    nouns: Zipf[Noun]
    verbs: tuple[Zipf[Verb], ...]  # by valency
    adjectives: Zipf[Adjective]
    adverbs: Zipf[Particle]
    prepositions: Zipf[Particle]
    times: Zipf[TimeWord]
    links: Zipf[Link]
    name_syllables: tuple[str, ...]


class _Coiner:
    """Coins stems of consonant, vowel, consonant, each unlike all before.

    Of the little words only articles have that shape; the others end in a vowel or hold a `y` or `vj`.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._taken = {form for case in Target.ARTICLE for gender in case for form in gender}

    def source(self) -> str:
        return self._coin("bdgklmnprstv", "aeiou", "bdgklmnprstv")

    def target(self) -> str:
        return self._coin("fhjlmnrstwxz", "aeioöü", "fhjlmnrstwxz")

    def word(self, rank: int, ambiguous: bool) -> tuple[str, tuple[str, ...]]:
        """Return a source stem and its target stems: two for an ambiguous word, itself for a loan."""
        source = self.source()
        if ambiguous:
            return source, (self.target(), self.target())
        return source, (source if rank % 6 != 5 else self.target(),)

    def _coin(self, onsets: str, vowels: str, codas: str) -> str:
        while True:
            stem = self._draw.pick(onsets) + self._draw.pick(vowels) + self._draw.pick(codas)
            if stem not in self._taken:
                self._taken.add(stem)
                return stem


@cache
def lexicon() -> Lexicon:
    """Return the words of the language; the same object on every call."""
    draw = Draw(_SEED)
    coin = _Coiner(draw)

    def noun(rank: int) -> Noun:
        source, targets = coin.word(rank, ambiguous=rank % 10 == 4)
        first = draw.below(3)
        return Noun(source, targets, tuple(Gender((first + sense) % 3) for sense in range(len(targets))))

    def verb(rank: int, valency: Valency) -> Verb:
        ambiguous = valency is not Valency.CLAUSAL and rank % 6 == 3
        return Verb(*coin.word(rank, ambiguous), valency, group=draw.below(2))

    def adjective(rank: int) -> Adjective:
        return Adjective(*coin.word(rank, ambiguous=rank % 6 == 3))

    def time(rank: int) -> TimeWord:
        tense = (Target.PAST, Target.FUTURE, Target.PRESENT)[rank % 3]
        return TimeWord(coin.source(), coin.target(), tense)

    def particle(_: int) -> Particle:
        return Particle(coin.source(), coin.target())

    def link(rank: int) -> Link:
        return Link(coin.source(), coin.target(), fronted=rank % 3 == 1)

    sizes = {Valency.INTRANSITIVE: 12, Valency.TRANSITIVE: 16, Valency.CLAUSAL: 4}
    return Lexicon(
        nouns=Zipf([noun(rank) for rank in range(36)]),
        verbs=tuple(Zipf([verb(rank, valency) for rank in range(sizes[valency])]) for valency in Valency),
        adjectives=Zipf([adjective(rank) for rank in range(12)]),
        adverbs=Zipf([particle(rank) for rank in range(6)]),
        prepositions=Zipf([particle(rank) for rank in range(6)]),
        times=Zipf([time(rank) for rank in range(9)]),
        links=Zipf([link(rank) for rank in range(6)]),
        name_syllables=tuple(consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"),
    )
