"""The search on the Transformer itself: through the cache, with every strategy it has."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.decoding.models import padded
from tests.decoding.test_translate import Bytes
from tests.model.configs import LEARNED, VARIANTS
from xformer.config import schema
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.decoding.search import SearchSettings, beam_search
from xformer.decoding.strategy import Hypothesis
from xformer.decoding.translate import translate
from xformer.model import build
from xformer.model.seq2seq import Seq2Seq

VOCABULARY = 200
SOURCES = [[*range(10 * length, 11 * length), EOS] for length in (1, 14, 3, 7, 17, 5, 9)]


def settings(beam: int, nbest: int = 1) -> SearchSettings:
    return SearchSettings(beam=beam, alpha=0.6, extra_length=8, nbest=nbest)


def model_of(config: schema.Model, vocabulary: int = VOCABULARY) -> Seq2Seq:
    """Random weights, made as sure of themselves as trained ones, and inclined to end now and then.

    Untied, since with random weights a tied model says its last token again for ever.
    """
    torch.manual_seed(3)
    model = build(replace(config, tying="none"), vocabulary).eval()
    with torch.no_grad():
        model.embedding.weight_WD["output"] *= 2.5
        model.embedding.weight_WD["output"][EOS] *= 4
    return model


def search(model: Seq2Seq, sources: list[list[int]], how: SearchSettings) -> list[list[Hypothesis]]:
    return beam_search(model, *padded(sources), how, bos=BOS, eos=EOS)


@torch.no_grad()
def log_probabilities(model: Seq2Seq, source: list[int], target_in: list[int]) -> Tensor:
    """Of every next token (T, W), by one pass over the whole target and no cache."""
    source_1S, mask_1S = padded([source])
    hidden_1TD = model(source_1S, mask_1S, torch.tensor([target_in]))
    return model.logits(hidden_1TD)[0].double().log_softmax(-1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_cached_scores_equal_a_full_pass_over_each_hypothesis(variant: str) -> None:
    model = model_of(VARIANTS[variant])
    for source, hypotheses in zip(SOURCES, search(model, SOURCES, settings(4, nbest=4)), strict=True):
        for hypothesis in hypotheses:
            steps_TW = log_probabilities(model, source, [BOS, *hypothesis.ids])
            expected = sum(float(step[i]) for step, i in zip(steps_TW, [*hypothesis.ids, EOS], strict=True))
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
            assert hypothesis.score == pytest.approx(
                expected / ((5 + len(hypothesis.ids) + 1) / 6) ** 0.6, abs=1e-4
            )


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_beam_of_one_is_greedy_without_a_cache(variant: str) -> None:
    model = model_of(VARIANTS[variant])
    found = search(model, SOURCES, settings(1))
    for source, [hypothesis] in zip(SOURCES, found, strict=True):
        ids: list[int] = []
        while len(ids) + 1 < len(source) + 8:
            scores = log_probabilities(model, source, [BOS, *ids])[-1]
            scores[[PAD, BOS, UNK]] = -math.inf
            if (token := int(scores.argmax())) == EOS:
                break
            ids.append(token)
        assert hypothesis.ids == ids


def test_these_models_end_by_themselves_and_at_the_limit() -> None:
    """So that the other tests have both to look at."""
    found = [search(model_of(config), SOURCES, settings(1)) for config in VARIANTS.values()]
    at_limit = [
        len(best[0].ids) == len(s) + 7 for each in found for best, s in zip(each, SOURCES, strict=True)
    ]
    assert 0.2 < sum(at_limit) / len(at_limit) < 0.8


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_translation_does_not_depend_on_its_batch(variant: str, beam: int) -> None:
    model, rng = model_of(VARIANTS[variant]), random.Random(0)
    how = settings(beam, nbest=beam)
    alone = [search(model, [source], how)[0] for source in SOURCES]
    assert len({tuple(hypothesis.ids) for best in alone for hypothesis in best}) > 2
    for size, count in ((3, 7), (7, 7), (64, 64)):
        order = rng.sample([*range(7)] * 10, count)
        for first in range(0, count, size):
            batch = order[first : first + size]
            found = search(model, [SOURCES[i] for i in batch], how)
            for i, together in zip(batch, found, strict=True):
                assert [each.ids for each in together] == [each.ids for each in alone[i]]
                assert [each.score for each in together] == pytest.approx(
                    [each.score for each in alone[i]], abs=1e-4
                )


def test_learned_positions_cut_long_sources_and_bound_long_targets() -> None:
    model = model_of(VARIANTS["learned"], 260)
    longest = LEARNED.max_length
    lines = ["x" * (longest + 30), "x" * (longest - 1), "y"]
    how = SearchSettings(beam=2, alpha=0.6, extra_length=100)
    result = translate(model, Bytes(), lines, how, 200)
    assert [each.source_cut for each in result] == [True, False, False]
    assert result[0].text == result[1].text  # what is read of both is the same
    assert all(len(each.candidates[0].ids) + 1 <= longest for each in result)
