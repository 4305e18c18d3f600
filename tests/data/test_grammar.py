"""The built-in language: the same bytes everywhere, one target for each source, splits kept apart."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import pytest

from benchmarks.grammar_baselines import learn_dictionary, translate
from tests.data.grammar_reader import read_source
from xformer.config import schema
from xformer.data.grammar import generate
from xformer.data.grammar.draw import Draw, Zipf
from xformer.data.grammar.lexicon import lexicon
from xformer.data.grammar.sentences import TALKATIVE, Speaker
from xformer.data.grammar.source import source_line
from xformer.data.grammar.target import target_line
from xformer.scoring.corpus import score

Corpus = dict[str, tuple[list[str], list[str]]]


@cache
def corpus(seed: int = 1) -> Corpus:
    return generate(
        schema.GrammarData(
            kind="grammar",
            seed=seed,
            train_pairs=4000,
            valid_pairs=300,
            test_pairs=300,
            long_pairs=50,
            max_length=128,
        )
    )


def words(line: str) -> int:
    return len(line.split(" "))


def said(source: str) -> str:
    return target_line(read_source(source))


def test_every_split_has_the_size_asked_for() -> None:
    sizes = {name: (len(source), len(target)) for name, (source, target) in corpus().items()}
    assert sizes == {"train": (4000, 4000), "valid": (300, 300), "test": (300, 300), "long": (50, 50)}


def test_a_seed_gives_the_same_bytes_on_every_machine() -> None:
    text = "\n".join(line for split in corpus().values() for side in split for line in side)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "f0a2b3077dfd3a69"


def test_another_seed_says_other_sentences_of_the_same_language() -> None:
    one, other = (set(corpus(seed)["train"][0]) for seed in (1, 2))
    assert len(one & other) < len(one) / 3
    assert all(said(source) == target for source, target in zip(*corpus(2)["test"], strict=True))


def test_no_source_sentence_occurs_twice_in_any_splits() -> None:
    sources = [line for source, _ in corpus().values() for line in source]
    assert len(set(sources)) == len(sources)


def test_ordinary_sentences_have_three_to_forty_words_on_either_side() -> None:
    lengths = {words(x) for split in ("train", "valid", "test") for side in corpus()[split] for x in side}
    assert min(lengths) == 3
    assert 35 <= max(lengths) <= 40


def test_long_sentences_are_longer_on_both_sides_than_any_other_on_either() -> None:
    longest = max(words(x) for split in ("train", "valid", "test") for side in corpus()[split] for x in side)
    assert min(words(line) for side in corpus()["long"] for line in side) > longest


def test_the_source_alone_determines_the_target() -> None:
    for source, target in (pair for split in corpus().values() for pair in zip(*split, strict=True)):
        assert said(source) == target


def test_a_source_sentence_has_one_tree_however_nested() -> None:
    speaker = Speaker(Draw(7), TALKATIVE)
    for _ in range(500):
        sentence = speaker.sentence()
        assert read_source(source_line(sentence)) == sentence


def test_no_two_words_of_the_source_look_alike() -> None:
    known = lexicon()
    classes = (known.nouns, *known.verbs, known.adjectives, known.adverbs, known.prepositions, known.times)
    stems = [word.source for words in (*classes, known.links) for word in words.items]
    assert len(set(stems)) == len(stems)


def test_names_of_the_test_split_are_mostly_unseen_and_stand_in_the_target_as_they_are() -> None:
    seen = {word for line in corpus()["train"][0] for word in line.split() if word[0].isupper()}
    unseen = 0
    for source, target in zip(*corpus()["test"], strict=True):
        names = sorted(word for word in source.split() if word[0].isupper())
        assert names == sorted(word for word in target.split() if word[0].isupper())
        unseen += sum(name not in seen for name in names)
    assert unseen > 10


def test_zipf_draws_in_proportion_to_one_over_rank() -> None:
    draw, zipf = Draw(3), Zipf("abcd")
    drawn = [zipf.draw(draw) for _ in range(25_000)]
    assert [drawn.count(item) for item in "abcd"] == pytest.approx([12_000, 6_000, 4_000, 3_000], rel=0.05)


def test_shuffling_keeps_every_item_and_moves_them() -> None:
    shuffled = Draw(5).shuffled(range(100))
    assert sorted(shuffled) == list(range(100))
    assert shuffled != list(range(100))


def test_a_dictionary_translates_badly() -> None:
    dictionary = learn_dictionary(*corpus()["train"])
    sources, references = corpus()["test"]
    assert 1 < score([translate(line, dictionary) for line in sources], references).bleu < 30


# --- the rules of docs/grammar.md, each worked out by hand ---------------------------------


@pytest.mark.parametrize(
    ("source", "target"),
    [
        pytest.param("la tub mos kap pam", "op kap moso tubo pamo", id="adjectives follow in reverse"),
        pytest.param("la dadi dun kob", "eps dadir dunes kob", id="article and verb agree"),
        pytest.param("kob ruk ta dad dun la dok", "kob ruka da dad dap dok dune", id="verb last in a clause"),
        pytest.param("la kob ke dun dad pam", "ap kob ya dad duna pama", id="subject missing"),
        pytest.param("la kob ke dad dun pam", "ap kob dya dad dune pama", id="object missing"),
        pytest.param("la kob ro la dad pam", "gep dad ap kob pama", id="owner first"),
        pytest.param("kob e dad pam", "kob ha dad pamas", id="a pair is plural, gender of its first"),
        pytest.param("kob dun dad keb", "höj kob duneta dad", id="a word of time sets the tense"),
        pytest.param("kob dun dad mo", "xu duna kob dad", id="verb first in a question"),
        pytest.param("kob ne dun la dad", "kob duna gep dad nu", id="object of a negated verb is oblique"),
        pytest.param("la sam dun dad", "op how duno dad", id="noun by verb of group 0"),
        pytest.param("la sam bat dad", "ap lüj bata dad", id="noun by verb of group 1"),
        pytest.param("kob kad dad", "kob wara dad", id="verb by a living object"),
        pytest.param("kob kad kap", "kob zoha kap", id="verb by an object that is a thing"),
        pytest.param("la kob kad la sam", "ap kob wara dap lüj", id="verb decides noun decides verb"),
        pytest.param("bun kob e bun kap pam", "kob züwa ha kap hijo pamas", id="adjective by its noun"),
        pytest.param("Bado pam", "Bado pame", id="gender of a name by its last vowel"),
        pytest.param("dad pam luv su pip", "dad pame züf vje pipe", id="pronoun agrees far back"),
        pytest.param("dad pam lir su pip", "tez vje pipe dad pame", id="fronted clause"),
        pytest.param("kob dun kog meb la dad dok", "kob duna dok rox gep dad löj", id="adverb to the end"),
        pytest.param("kob pam u su pip", "kob pama jo vja pipa", id="clause after clause"),
    ],
)
def test_the_rules_translate_as_worked_out_by_hand(source: str, target: str) -> None:
    assert said(source) == target


def test_every_example_of_the_documentation_is_true() -> None:
    page = (Path(__file__).parents[2] / "docs" / "grammar.md").read_text(encoding="utf-8")
    examples = re.findall(r"^\| `(.+)` \| `(.+)` \|$", page, flags=re.MULTILINE)
    assert len(examples) >= 12
    assert [said(source) for source, _ in examples] == [target for _, target in examples]
