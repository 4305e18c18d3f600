"""Batch, order and beam leave a translation as it is, with every position scheme that can be configured."""

from __future__ import annotations

import random
from functools import cache

import pytest
import torch

from tests.decoding.models import padded
from xformer.config.compose import compose
from xformer.config.locations import config_root
from xformer.data.vocabulary import BOS, EOS
from xformer.decoding.likelihood import log_probabilities
from xformer.decoding.sampling import Sampling
from xformer.decoding.search import SearchSettings
from xformer.decoding.strategy import Hypothesis, Strategy
from xformer.model import build

SCHEMES = sorted(path.stem for path in (config_root() / "conf/model/position").glob("*.yaml"))
VOCABULARY = 120
SIZES = ("layers=2", "d_model=16", "d_ff=32", "heads=2", "key_value_heads=2", "d_k=8", "d_v=8", "tying=none")
STRATEGIES: dict[str, Strategy] = {
    "beam 1": SearchSettings(beam=1, alpha=0.6, extra_length=4),
    "beam 4": SearchSettings(beam=4, alpha=0.6, extra_length=4, nbest=2),
    "sampling": Sampling(top_p=0.9, extra_length=4),
}


def sources() -> list[list[int]]:
    """64 of 1 to 12 tokens."""
    draw = random.Random(2)
    return [[*draw.choices(range(4, VOCABULARY), k=draw.randint(1, 12)), EOS] for _ in range(64)]


@cache
def model_of(scheme: str) -> torch.nn.Module:
    """Random weights, made as sure of themselves as trained ones, and inclined to end now and then."""
    config = compose([f"model/position={scheme}", *(f"model.{size}" for size in SIZES)])
    torch.manual_seed(3)
    model = build(config.model, VOCABULARY).eval()
    with torch.no_grad():
        model.embedding.weight_WD["output"] *= 2.5
        model.embedding.weight_WD["output"][EOS] *= 4
    return model


def decoded(scheme: str, how: Strategy, order: list[int], size: int) -> dict[int, list[Hypothesis]]:
    every, model = sources(), model_of(scheme)
    found = {}
    for first in range(0, len(order), size):
        batch = order[first : first + size]
        hypotheses = how.hypotheses(model, *padded([every[i] for i in batch]), bos=BOS, eos=EOS)
        found |= dict(zip(batch, hypotheses, strict=True))
    return found


def test_there_are_the_papers_two_schemes_at_least() -> None:
    assert {"sinusoidal", "learned"} <= set(SCHEMES)


@pytest.mark.parametrize("how", STRATEGIES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_batches_of_1_7_and_64_in_another_order_give_the_same_translations(scheme: str, how: str) -> None:
    strategy = STRATEGIES[how]
    alone = decoded(scheme, strategy, list(range(64)), 1)
    assert len({tuple(best[0].ids) for best in alone.values()}) > 10  # they say something
    for size in (7, 64):
        together = decoded(scheme, strategy, random.Random(size).sample(range(64), 64), size)
        for i, hypotheses in alone.items():
            assert [each.ids for each in together[i]] == [each.ids for each in hypotheses]
            for one, other in zip(together[i], hypotheses, strict=True):
                assert one.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_equal_a_pass_over_the_whole_translation(scheme: str) -> None:
    found = decoded(scheme, STRATEGIES["beam 4"], list(range(64)), 64)
    pairs = [(sources()[i], each.ids) for i, best in found.items() for each in best]
    again = log_probabilities(model_of(scheme), [pair[0] for pair in pairs], [pair[1] for pair in pairs], 300)
    told = [each.log_probability for best in found.values() for each in best]
    assert told == pytest.approx(again, abs=1e-4)
