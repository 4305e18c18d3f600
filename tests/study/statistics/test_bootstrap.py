"""Resampled corpus BLEU and the two paired tests, against sacrebleu's own."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from tests.scoring.test_corpus import corpus
from xformer.scoring.corpus import bleu_of, score, statistics
from xformer.study.statistics.bootstrap import approximate_randomisation, paired_bootstrap, resampled_bleu


def systems(lines: int = 200, lost: float = 0.0) -> tuple[list[str], list[str], list[str]]:
    """Two systems' hypotheses and the references; the second loses a share of its words on top."""
    one, references = corpus(lines)
    rng = random.Random(7)
    other = []
    for reference in references:
        words = [word for word in reference.split(" ") if rng.random() > 0.2 + lost]
        words[2:5] = reversed(words[2:5])
        other.append(" ".join(word.upper() if rng.random() < 0.1 else word for word in words))
    return one, other, references


def sacrebleus(kind: str, hypotheses: list[str], other: list[str], references: list[str]) -> float:
    """Its p-value; the seed is its default, 12345."""
    test = PairedTest([("one", hypotheses), ("other", other)], {"BLEU": BLEU()}, [references], test_type=kind)
    result = test()[1]["BLEU"][1]
    assert not isinstance(result, str)
    assert result.p_value is not None
    return result.p_value


def test_each_resample_has_the_bleu_of_its_sentences() -> None:
    hypotheses, references = corpus(40)
    counts = statistics(hypotheses, references)
    scores = resampled_bleu(np.stack([counts, counts[::-1]]), resamples=30, seed=5)
    drawn = np.random.default_rng(5).integers(40, size=(30, 40))
    for number, lines in enumerate(drawn):
        expected = BLEU().corpus_score([hypotheses[n] for n in lines], [[references[n] for n in lines]]).score
        assert scores[number, 0] == pytest.approx(expected, rel=1e-12)
        assert scores[number, 1] == pytest.approx(bleu_of(counts[::-1][lines].sum(axis=0)), rel=1e-12)


def test_every_system_has_the_same_sentences_in_a_resample() -> None:
    counts = statistics(*corpus())
    scores = resampled_bleu(np.stack([counts, counts, counts]))
    assert scores.shape == (2000, 3)
    assert (np.ptp(scores, axis=1) == 0).all()
    assert scores[:, 0].std() > 0.1


def test_resamples_equal_those_of_sacrebleus_paired_bootstrap() -> None:
    """Its p-value looks at one side only: |d*| minus its own mean, above |d|; so it is formed here anew."""
    one, other, references = systems(lost=0.02)
    counts = [statistics(hypotheses, references) for hypotheses in (one, other)]
    scores = resampled_bleu(np.stack(counts), resamples=1000, seed=12345)
    moved = np.abs(scores[:, 1] - scores[:, 0])
    moved -= moved.mean()
    measured = abs(bleu_of(counts[1].sum(axis=0)) - bleu_of(counts[0].sum(axis=0)))
    expected = sacrebleus("bs", one, other, references)
    assert 0.005 < expected < 0.3
    assert ((moved > measured).sum() + 1) / 1001 == expected


@pytest.mark.parametrize("lost", [0.0, 0.02, 0.03])
def test_approximate_randomisation_agrees_with_sacrebleus(lost: float) -> None:
    one, other, references = systems(lost=lost)
    expected = sacrebleus("ar", one, other, references)
    found = approximate_randomisation(statistics(one, references), statistics(other, references))
    assert found.difference == pytest.approx(score(one, references).bleu - score(other, references).bleu)
    # Four standard errors of a share of 10,000 shuffles, on both sides.
    assert found.p == pytest.approx(expected, abs=4 * np.sqrt(2 * expected * (1 - expected) / 10_000) + 1e-4)


def test_both_tests_agree_on_what_is_clear_and_find_nothing_between_equals() -> None:
    one, other, references = systems(lost=0.1)
    better, counts = statistics(one, references), statistics(other, references)
    for test in (paired_bootstrap, approximate_randomisation):
        assert test(better, counts).p < 0.01
        assert test(better, counts).difference == -test(counts, better).difference > 0
        assert test(counts, counts).p == 1
        assert test(counts, counts).difference == 0


def test_the_paired_bootstrap_looks_at_both_sides() -> None:
    """About twice sacrebleu's one-sided share."""
    one, other, references = systems(lost=0.02)
    found = paired_bootstrap(statistics(one, references), statistics(other, references), resamples=10_000)
    assert 1.3 < found.p / sacrebleus("bs", one, other, references) < 3


def test_the_paired_tests_keep_their_promise_where_there_is_no_difference() -> None:
    """Two outputs of which each line is dealt to either system by a coin differ by chance only."""
    one, other, references = systems(lines=150)
    counts = np.stack([statistics(each, references) for each in (one, other)])
    rng = np.random.default_rng(11)
    alarms = np.zeros(2)
    for trial in range(200):
        coin = rng.integers(2, size=150)
        mixed, rest = counts[coin, np.arange(150)], counts[1 - coin, np.arange(150)]
        alarms += (
            paired_bootstrap(mixed, rest, 300, seed=trial).p <= 0.05,
            approximate_randomisation(mixed, rest, 300, seed=trial).p <= 0.05,
        )
    # 5 % of 200 is 10, and its standard deviation 3.1.
    assert all(2 <= each <= 20 for each in alarms)
