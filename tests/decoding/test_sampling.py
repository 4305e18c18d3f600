"""Sampling against the distribution it is of, and against itself in other company."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest
import torch

from tests.decoding.models import PrefixTable, Recurrent, padded
from tests.decoding.test_search import random_sources
from xformer.decoding.sampling import Sampling, nucleus
from xformer.decoding.strategy import Hypothesis
from xformer.errors import UserError

BOS, EOS, A, B, C = 4, 0, 1, 2, 3


def sample(model, sources, how: Sampling, bos=BOS, eos=EOS, forbidden=()) -> list[list[Hypothesis]]:
    return how.hypotheses(model, *padded(sources), bos=bos, eos=eos, forbidden=forbidden)


def probabilities(model: PrefixTable, prefix: list[int], temperature: float, top_p: float) -> list[float]:
    """Of EOS, A, B and C after a prefix, straight from the definition; BOS is never drawn."""
    raw = [math.exp(float(x) / temperature) for x in model.logits([A, B], prefix)[:4]]
    kept, mass = set(), 0.0
    for token in sorted(range(4), key=lambda token: -raw[token]):
        if mass < top_p * sum(raw):
            kept.add(token)
        mass += raw[token]
    total = sum(raw[token] for token in kept)
    return [raw[token] / total if token in kept else 0.0 for token in range(4)]


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.7)])
def test_frequencies_are_the_products_of_the_steps_probabilities(temperature: float, top_p: float) -> None:
    """Every sequence of up to two words; four standard deviations of a binomial each."""
    model, draws = PrefixTable(5, EOS, seed=5), 4000
    how = Sampling(temperature, top_p, seed=9, nbest=draws, extra_length=1)  # limit: two words and EOS
    [found] = sample(model, [[A, B]], how)
    counted = Counter(tuple(hypothesis.ids) for hypothesis in found)
    expected = {}
    for words in range(3):
        for ids in itertools.product((A, B, C), repeat=words):
            steps = [
                probabilities(model, list(ids[:n]), temperature, top_p)[token] for n, token in enumerate(ids)
            ]
            ends = probabilities(model, list(ids), temperature, top_p)[EOS] if words < 2 else 1.0
            expected[ids] = math.prod(steps) * ends
    assert sum(expected.values()) == pytest.approx(1.0)
    for ids, p in expected.items():
        assert abs(counted[ids] - draws * p) <= 4 * math.sqrt(draws * p * (1 - p)) + 1e-9, ids


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_probability_told_is_the_models_own_whatever_was_drawn_from(temperature: float) -> None:
    model, sources = PrefixTable(70, EOS, end=2.0), random_sources(6, 70)
    how = Sampling(temperature, top_p=0.9, nbest=3)
    for source, hypotheses in zip(sources, sample(model, sources, how), strict=True):
        assert len(hypotheses) == 3
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in hypotheses:
            expected = model.log_probability(source, [*hypothesis.ids, EOS])
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
            penalty = ((5 + len(hypothesis.ids) + 1) / 6) ** 0.6
            assert hypothesis.score == pytest.approx(expected / penalty, abs=1e-4)


def test_a_sample_depends_on_the_seed_and_its_sentence_alone() -> None:
    model, sources = Recurrent(70, sharpness=2.0).eval(), random_sources(9, 70)
    how = Sampling(top_p=0.95, seed=4, nbest=2, extra_length=8)
    alone = [sample(model, [source], how, eos=2)[0] for source in sources]
    assert len({tuple(each[0].ids) for each in alone}) == 9
    for size in (2, 9):
        order = random.Random(size).sample(range(9), 9)
        for first in range(0, 9, size):
            batch = order[first : first + size]
            for i, together in zip(
                batch, sample(model, [sources[i] for i in batch], how, eos=2), strict=True
            ):
                assert [each.ids for each in together] == [each.ids for each in alone[i]]
                for one, other in zip(together, alone[i], strict=True):
                    assert one.score == pytest.approx(other.score, abs=1e-4)
    other = Sampling(top_p=0.95, seed=5, nbest=2, extra_length=8)
    assert [each[0].ids for each in sample(model, sources, other, eos=2)] != [each[0].ids for each in alone]


def test_the_first_samples_of_many_are_those_of_few() -> None:
    model, sources = PrefixTable(70, EOS, end=2.0), random_sources(4, 70)
    few, many = (sample(model, sources, Sampling(nbest=n)) for n in (2, 5))
    for two, five in zip(few, many, strict=True):
        assert {tuple(each.ids) for each in two} <= {tuple(each.ids) for each in five}


def test_nearly_no_temperature_is_greedy() -> None:
    model = PrefixTable(70, EOS, end=1.0)
    for source, [hypothesis] in zip(
        random_sources(5, 70), sample(model, random_sources(5, 70), Sampling(1e-4)), strict=True
    ):
        for n, token in enumerate([*hypothesis.ids, EOS]):
            logits = model.logits(source, hypothesis.ids[:n])
            logits[BOS] = -math.inf
            assert int(logits.argmax()) == token or n == len(source) + 49


def test_lengths_are_kept_within_bounds() -> None:
    sources = random_sources(6, 70)
    for end, least, most, length in ((30.0, 3, 5, 3), (-30.0, 3, 5, 5)):
        found = sample(PrefixTable(70, EOS, end=end), sources, Sampling(min_length=least, max_length=most))
        assert [len(each.ids) for [each] in found] == [length] * 6


def test_control_tokens_are_never_drawn_however_probable() -> None:
    class Controls(PrefixTable):
        def logits(self, source: list[int], prefix: list[int]) -> torch.Tensor:
            logits = super().logits(source, prefix)
            logits[[0, 1, 3]] += 8.0
            return logits

    found = sample(Controls(70, 2), random_sources(5, 70), Sampling(), bos=1, eos=2, forbidden=(0, 3))
    ids = {token for [hypothesis] in found for token in hypothesis.ids}
    assert ids
    assert not ids & {0, 1, 2, 3}


def test_a_model_of_nan_gives_empty_hypotheses_and_ends() -> None:
    class Broken(PrefixTable):
        def logits(self, source: list[int], prefix: list[int]) -> torch.Tensor:
            return super().logits(source, prefix) * (math.nan if source[0] == A else 1.0)

    broken, whole = sample(Broken(70, EOS, end=3.0), [[A], [B]], Sampling())
    assert broken[0].ids == []
    assert math.isnan(broken[0].score)
    assert math.isfinite(whole[0].score)


def test_no_sentences_give_no_samples() -> None:
    empty = torch.zeros(0, 3, dtype=torch.long)
    assert Sampling().hypotheses(Recurrent(70), empty, empty.bool(), bos=1, eos=2) == []


def test_the_nucleus_by_hand() -> None:
    p = torch.tensor([[0.1, 0.5, 0.15, 0.25]])
    for top_p, kept in (
        (0.4, [1]),
        (0.5, [1]),
        (0.6, [1, 3]),
        (0.75, [1, 3]),
        (0.8, [1, 2, 3]),
        (0.95, [0, 1, 2, 3]),
    ):
        assert nucleus(p.double(), top_p)[0].nonzero().flatten().tolist() == kept


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"temperature": 0.0}, "temperature of 0.0"),
        ({"temperature": math.nan}, "temperature of nan"),
        ({"temperature": 1e-320}, "temperature of 1e-320"),
        ({"top_p": 0.0}, "top-p of 0.0"),
        ({"top_p": 1.1}, "top-p of 1.1"),
        ({"nbest": 0}, "0 samples"),
        ({"nbest": 10**20}, "0 samples of a line: give 1 to 1000000"),
        ({"seed": -1}, "seed of -1"),
        ({"alpha": -1.0}, "penalty of -1.0"),
        ({"min_length": 5, "max_length": 4}, "minimum length of 5"),
    ],
)
def test_settings_without_meaning_are_refused(wrong: dict, named: str) -> None:
    with pytest.raises(UserError, match=named):
        Sampling(**wrong)
