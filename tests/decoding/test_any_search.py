"""Beam search against brute force, for any model, batch, length penalty and bounds that hypothesis finds."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from tests.decoding.models import PrefixTable, padded
from xformer.decoding.search import SearchSettings, beam_search
from xformer.decoding.strategy import Hypothesis

BOS, EOS, WORDS = 4, 0, (1, 2, 3)
EVERY = 256  # more hypotheses than there are of up to three words, so that nothing is ever pruned


def ranking(model: PrefixTable, source: list[int], how: SearchSettings) -> list[Hypothesis]:
    """Every hypothesis within the bounds, best first, straight from the definition."""
    most = max(len(source) + how.extra_length - 1, how.min_length)  # one token is the EOS
    most = min(most, how.max_length or most)
    found = []
    for count in range(how.min_length, most + 1):
        for ids in itertools.product(WORDS, repeat=count):
            log_probability = model.log_probability(source, [*ids, EOS])
            found.append(
                Hypothesis(list(ids), log_probability, log_probability / ((6 + count) / 6) ** how.alpha)
            )
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    end=st.floats(-3, 3),
    sources=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), min_size=1, max_size=3),
    alpha=st.floats(0, 2),
    extra=st.integers(0, 2),
    bounds=st.sampled_from([(0, 0), (1, 0), (2, 3), (0, 1), (3, 3)]),
)
def test_a_search_that_prunes_nothing_is_brute_force(
    seed: int, end: float, sources: list[list[int]], alpha: float, extra: int, bounds: tuple[int, int]
) -> None:
    model = PrefixTable(5, EOS, seed=seed, end=end)
    least, most = bounds
    how = SearchSettings(EVERY, alpha, extra, nbest=EVERY, min_length=least, max_length=most)
    found = beam_search(model, *padded(sources), how, bos=BOS, eos=EOS, forbidden=())
    for source, hypotheses in zip(sources, found, strict=True):
        expected = ranking(model, source, how)
        assert [each.score for each in hypotheses] == pytest.approx([h.score for h in expected], abs=1e-4)
        assert {tuple(each.ids) for each in hypotheses} == {tuple(each.ids) for each in expected}
