"""Beam search against brute force, a ten-line greedy loop, and itself in other company."""

from __future__ import annotations

import itertools
import math
import random
from unittest import mock

import pytest
import torch

from tests.decoding.models import PrefixTable, Recurrent, padded
from xformer.decoding.beams import Growing
from xformer.decoding.search import SearchSettings, beam_search
from xformer.decoding.strategy import Hypothesis
from xformer.errors import UserError

BOS, EOS, A, B, C = 4, 0, 1, 2, 3  # the model of four outcomes: EOS and three words


def settings(beam: int, alpha: float = 0.6, extra_length: int = 5, nbest: int = 1) -> SearchSettings:
    return SearchSettings(beam=beam, alpha=alpha, extra_length=extra_length, nbest=nbest)


def search(model, sources, how, **ids) -> list[list[Hypothesis]]:
    return beam_search(model, *padded(sources), how, **({"bos": BOS, "eos": EOS, "forbidden": ()} | ids))


def random_sources(count: int, vocabulary: int, seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(4, vocabulary) for _ in range(rng.randint(1, 12))] for _ in range(count)]


# --- against brute force -------------------------------------------------------------------


def every_hypothesis(model: PrefixTable, source: list[int], longest: int, alpha: float) -> list[Hypothesis]:
    """All that end within `longest` tokens, best first, straight from the definition."""
    hypotheses = []
    for words in range(longest):
        for ids in itertools.product((A, B, C), repeat=words):
            log_probability = model.log_probability(source, [*ids, EOS])
            score = log_probability / ((5 + words + 1) / 6) ** alpha
            hypotheses.append(Hypothesis(list(ids), log_probability, score))
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_beam_wider_than_the_space_finds_the_true_best(seed: int, alpha: float) -> None:
    model = PrefixTable(5, EOS, seed=seed, end=-1.5)
    source = [A, B]
    best, *_ = every_hypothesis(model, source, longest=4, alpha=alpha)
    [[found]] = search(model, [source], settings(256, alpha, extra_length=2))
    assert found.ids == best.ids
    assert found.score == pytest.approx(best.score, abs=1e-5)
    assert found.log_probability == pytest.approx(best.log_probability, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_the_nbest_list_of_such_a_beam_is_the_true_ranking(alpha: float) -> None:
    model = PrefixTable(5, EOS, seed=3)
    ranking = every_hypothesis(model, [A, B], longest=4, alpha=alpha)
    [found] = search(model, [[A, B]], settings(256, alpha, extra_length=2, nbest=256))
    assert len(ranking) == 1 + 3 + 9 + 27
    assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in ranking]


def test_alpha_decides_between_a_short_and_a_long_best() -> None:
    """So that the three alphas above are three questions and not one."""
    models = (PrefixTable(5, EOS, seed=seed, end=-1.5) for seed in range(8))
    pairs = [[every_hypothesis(m, [A, B], 4, alpha)[0].ids for alpha in (0.0, 1.0)] for m in models]
    assert any(len(short) < len(long) for short, long in pairs)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(("least", "most"), [(1, 0), (2, 0), (3, 3), (0, 2), (1, 2)])
def test_with_bounds_on_the_length_it_is_the_best_within_them(alpha: float, least: int, most: int) -> None:
    model = PrefixTable(5, EOS, seed=1)
    within = [
        hypothesis
        for hypothesis in every_hypothesis(model, [A, B], longest=4, alpha=alpha)
        if least <= len(hypothesis.ids) <= (most or 3)
    ]
    how = SearchSettings(256, alpha, extra_length=2, nbest=256, min_length=least, max_length=most)
    [found] = search(model, [[A, B]], how)
    assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in within]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([h.score for h in within], abs=1e-5)


# --- scores --------------------------------------------------------------------------------


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_every_score_equals_a_full_recomputation(beam: int) -> None:
    model = PrefixTable(70, EOS, end=1.0, temperature=0.5)
    sources = random_sources(6, 70)
    for source, hypotheses in zip(sources, search(model, sources, settings(beam, nbest=beam)), strict=True):
        for hypothesis in hypotheses:
            expected = model.log_probability(source, [*hypothesis.ids, EOS])
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
            penalty = ((5 + len(hypothesis.ids) + 1) / 6) ** 0.6
            assert hypothesis.score == pytest.approx(expected / penalty, abs=1e-4)


def test_hypotheses_come_best_first_and_differ() -> None:
    for hypotheses in search(Recurrent(70), random_sources(6, 70), settings(5, nbest=5), eos=2):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(hypothesis.ids) for hypothesis in hypotheses}) == len(hypotheses)


# --- greedy --------------------------------------------------------------------------------


def greedy(model, source: list[int], longest: int, eos: int, never: list[int]) -> list[int]:
    state = model.start(*padded([source]), longest)
    token, ids = torch.tensor([BOS]), []
    while len(ids) + 1 < longest:
        logits = model.step(token, state)
        logits[0, never] = -math.inf
        token = logits.argmax(-1)
        if token.item() == eos:
            break
        ids.append(token.item())
    return ids


@pytest.mark.parametrize("make", [lambda: Recurrent(70).eval(), lambda: PrefixTable(70, 2, end=2.5)])
def test_a_beam_of_one_is_greedy(make) -> None:
    model, sources = make(), random_sources(12, 70)
    with torch.no_grad():
        expected = [greedy(model, source, len(source) + 5, eos=2, never=[0, 3, BOS]) for source in sources]
    found = search(model, sources, settings(1), eos=2, forbidden=[0, 3])
    assert [hypotheses[0].ids for hypotheses in found] == expected
    lengths = {len(ids) - len(source) for ids, source in zip(expected, sources, strict=True)}
    assert len(lengths) > 2  # some end by themselves, some at the limit


# --- ending --------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("nbest", [1, 4])
def test_ending_early_changes_nothing(alpha: float, nbest: int) -> None:
    model, sources = PrefixTable(70, EOS, end=1.0, temperature=0.4), random_sources(12, 70)
    how = settings(4, alpha, extra_length=25, nbest=nbest)
    early = search(model, sources, how)
    rows_early, model.steps = sum(model.steps), []
    with mock.patch.object(
        Growing, "best_possible_A", lambda self, *_: self.log_probability_AK.amax(1) + 1e9
    ):
        to_the_limit = search(model, sources, how)
    assert early == to_the_limit
    if alpha < 1:  # above, this model's longer hypotheses have good hopes to the end
        assert rows_early < 0.9 * sum(model.steps)


def test_a_longer_and_better_hypothesis_is_waited_for() -> None:
    """EOS first wins by probability, [A, EOS] by score; ending at the first EOS would miss it."""

    class Late(PrefixTable):
        def logits(self, source: list[int], prefix: list[int]) -> torch.Tensor:
            first, later = [0.50, 0.48, 0.01, 0.005, 0.005], [0.97, 0.01, 0.01, 0.005, 0.005]
            return torch.tensor(later if prefix else first).log()

    def best(alpha: float) -> list[int]:
        return search(Late(5, EOS), [[A]], settings(2, alpha))[0][0].ids

    assert best(alpha=0.0) == []
    assert best(alpha=1.0) == [A]


def test_the_best_of_one_is_the_best_of_many() -> None:
    model = Recurrent(70).eval()
    sources = random_sources(10, 70)
    one, four = (search(model, sources, settings(4, nbest=nbest), eos=2) for nbest in (1, 4))
    assert [hypotheses[0].ids for hypotheses in one] == [hypotheses[0].ids for hypotheses in four]


@pytest.mark.parametrize("beam", [1, 4])
def test_what_never_ends_is_ended_at_the_limit_at_its_own_price(beam: int) -> None:
    model = PrefixTable(70, EOS, end=-20.0)
    sources = [[A], [A, B, C]]
    found = search(model, sources, settings(beam, extra_length=5))
    for source, [hypothesis] in zip(sources, found, strict=True):
        assert len(hypothesis.ids) + 1 == len(source) + 5
        expected = model.log_probability(source, [*hypothesis.ids, EOS])
        assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
        assert hypothesis.log_probability < -20


@pytest.mark.parametrize("beam", [1, 4])
def test_nothing_ends_before_the_least_length_nor_goes_beyond_the_greatest(beam: int) -> None:
    sources = random_sources(8, 70)
    for end, least, most in ((30.0, 3, 5), (-30.0, 3, 5), (30.0, 40, 0), (-30.0, 0, 1)):
        model = PrefixTable(70, EOS, end=end)
        how = SearchSettings(beam, 0.6, extra_length=5, min_length=least, max_length=most)
        for source, [hypothesis] in zip(sources, search(model, sources, how), strict=True):
            longest = max(min(len(source) + 4, most or 1000), least)
            assert len(hypothesis.ids) == (least if end > 0 else longest)
            expected = model.log_probability(source, [*hypothesis.ids, EOS])
            assert hypothesis.log_probability == pytest.approx(expected, rel=1e-5)


def test_a_least_length_beyond_the_models_positions_is_refused() -> None:
    model = PrefixTable(70, EOS)
    model.max_target_length = 8
    with pytest.raises(UserError, match="Give 7 or less"):
        search(model, [[A]], SearchSettings(2, 0.6, 5, min_length=8))
    [[hypothesis]] = search(model, [[A]], SearchSettings(2, 0.6, 5, min_length=7))
    assert len(hypothesis.ids) == 7


def test_a_model_that_ends_at_once_gives_the_empty_hypothesis_in_one_step() -> None:
    model = PrefixTable(70, EOS, end=30.0)
    assert [h.ids for [h] in search(model, [[A], [B, C]], settings(4))] == [[], []]
    assert len(model.steps) == 1


def test_no_hypothesis_is_longer_than_the_model_can_go() -> None:
    model = PrefixTable(70, EOS, end=-20.0)
    model.max_target_length = 7
    found = search(model, [[A], [A, B, C, A, B]], settings(2, extra_length=5))
    assert [len(hypothesis.ids) + 1 for [hypothesis] in found] == [6, 7]


# --- independence of the company -----------------------------------------------------------


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("make", [lambda: Recurrent(70).eval(), lambda: PrefixTable(70, 2, end=2.0)])
def test_a_translation_does_not_depend_on_its_batch(make, beam: int) -> None:
    model, sources = make(), [list(range(4, 4 + length)) for length in (1, 20, 3, 7, 12, 5, 9)]
    how = settings(beam, nbest=beam)

    def decode(order: list[int], size: int) -> dict[int, list[Hypothesis]]:
        batches = [order[first : first + size] for first in range(0, len(order), size)]
        return {
            index: hypotheses
            for batch in batches
            for index, hypotheses in zip(
                batch, search(model, [sources[i] for i in batch], how, eos=2), strict=True
            )
        }

    alone = decode(list(range(7)), 1)
    for order, size in (([0, 1, 2, 3, 4, 5, 6], 3), ([0, 1, 2, 3, 4, 5, 6], 7), ([4, 2, 6, 0, 5, 1, 3], 7)):
        together = decode(order, size)
        for index, hypotheses in alone.items():
            for one, other in zip(hypotheses, together[index], strict=True):
                assert one.ids == other.ids
                assert one.score == pytest.approx(other.score, abs=1e-4)


def test_settled_sentences_leave_the_batch() -> None:
    class EndsAfter(PrefixTable):
        """As many tokens as the first source id says."""

        def logits(self, source: list[int], prefix: list[int]) -> torch.Tensor:
            logits = super().logits(source, prefix)
            logits[self.eos] = 40.0 if len(prefix) >= source[0] else -40.0
            return logits

    model = EndsAfter(70, EOS)
    found = search(model, [[1], [6], [3]], settings(4, extra_length=20))
    assert [len(hypothesis.ids) for [hypothesis] in found] == [1, 6, 3]
    assert model.steps == [3, 12, 8, 8, 4, 4, 4]


# --- what is never generated ---------------------------------------------------------------


def test_control_tokens_are_never_generated_however_probable() -> None:
    class Controls(PrefixTable):
        def logits(self, source: list[int], prefix: list[int]) -> torch.Tensor:
            logits = super().logits(source, prefix)
            logits[[0, 1, 3]] += 15.0
            return logits

    model = Controls(70, 2)
    found = beam_search(model, *padded(random_sources(5, 70)), settings(4, nbest=4), bos=1, eos=2)
    ids = {token for hypotheses in found for hypothesis in hypotheses for token in hypothesis.ids}
    assert ids
    assert not ids & {0, 1, 2, 3}


def test_probability_of_what_is_never_generated_is_not_shared_out() -> None:
    model = PrefixTable(70, 2, end=3.0)
    [[hypothesis]] = search(model, [[5, 6]], settings(4), bos=1, eos=2, forbidden=[0, 3])
    expected = model.log_probability([5, 6], [*hypothesis.ids, 2])
    assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)


# --- odd input -----------------------------------------------------------------------------


def test_no_sentences_give_no_hypotheses() -> None:
    empty = torch.zeros(0, 3, dtype=torch.long)
    assert beam_search(Recurrent(70), empty, empty.bool(), settings(4), bos=1, eos=2) == []


def test_a_model_of_nan_gives_empty_hypotheses_and_ends() -> None:
    class Broken(PrefixTable):
        def logits(self, source: list[int], prefix: list[int]) -> torch.Tensor:
            return super().logits(source, prefix) * (math.nan if source[0] == A else 1.0)

    broken, whole = search(Broken(70, EOS, end=3.0), [[A], [B]], settings(4))
    assert broken[0].ids == []
    assert math.isnan(broken[0].score)
    assert math.isfinite(whole[0].score)


def test_nothing_is_selected_where_no_row_moves() -> None:
    model = Recurrent(70).eval()
    states = []
    start = model.start
    model.start = lambda *args: states.append(start(*args)) or states[0]
    search(model, [[5, 6, 7]], settings(1), eos=2)
    assert states[0].selections == 0


def test_what_a_model_keeps_from_decoding_is_fit_to_train_with() -> None:
    class Keeps(Recurrent):
        def start(self, *source: object) -> object:
            self.table = torch.ones(3)
            return super().start(*source)

    model = Keeps(70)
    search(model, [[5, 6]], settings(1))
    (model.table * model.embedding.weight[0, 0]).sum().backward()  # refused of an inference tensor
