"""Log-probabilities of given targets against a step-by-step sum in double precision."""

from __future__ import annotations

import pytest
import torch

from tests.decoding.models import padded
from tests.model.configs import VARIANTS
from xformer.data.vocabulary import BOS, EOS
from xformer.decoding import likelihood
from xformer.decoding.likelihood import log_probabilities
from xformer.model import build

SOURCES = [[5, 6, 7, EOS], [8, EOS], [9, 10, 11, 12, 13, 14, EOS], [EOS]]
TARGETS = [[20, 21], [22, 23, 24, 25, 26], [], [27]]


@torch.no_grad()
def by_steps(model, source: list[int], target: list[int]) -> float:
    model = model.double()
    total = 0.0
    for n, token in enumerate([*target, EOS]):
        hidden = model(*padded([source]), torch.tensor([[BOS, *target[:n]]]))
        total += float(model.logits(hidden)[0, -1].log_softmax(-1)[token])
    model.float()
    return total


@pytest.mark.parametrize("variant", ["paper", "learned", "multi_query_fused", "all_at_once"])
@pytest.mark.parametrize("tokens_per_batch", [1, 12, 1000])
def test_they_are_the_sum_over_steps_in_any_batch(variant: str, tokens_per_batch: int) -> None:
    torch.manual_seed(0)
    model = build(VARIANTS[variant], 40).eval()
    found = log_probabilities(model, SOURCES, TARGETS, tokens_per_batch)
    expected = [by_steps(model, source, target) for source, target in zip(SOURCES, TARGETS, strict=True)]
    assert found == pytest.approx(expected, abs=1e-4)


def test_logits_in_small_parts_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(VARIANTS["paper"], 40).eval()
    whole = log_probabilities(model, SOURCES, TARGETS, 1000)
    monkeypatch.setattr(likelihood, "_LOGITS", 80)
    assert log_probabilities(model, SOURCES, TARGETS, 1000) == pytest.approx(whole, abs=1e-5)


def test_dropout_is_off_and_as_it_was_after() -> None:
    model = build(VARIANTS["paper"], 40).train()
    log_probabilities(model, SOURCES, TARGETS, 1000)
    assert model.training


def test_nothing_has_no_probabilities() -> None:
    assert log_probabilities(build(VARIANTS["paper"], 40), [], [], 100) == []
