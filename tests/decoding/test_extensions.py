"""The shortlist must hold what a search of everything would find."""

from __future__ import annotations

import pytest
import torch

from xformer.decoding.extensions import best_extensions, log_sum_exp


@pytest.mark.parametrize("vocabulary", [3, 63, 64, 65, 640, 1000])
@pytest.mark.parametrize("hypotheses", [1, 4])
@pytest.mark.parametrize("count", [1, 4, 9])
def test_best_extensions_are_those_of_a_full_sort(vocabulary: int, hypotheses: int, count: int) -> None:
    torch.manual_seed(vocabulary)
    logits = torch.randn(5, hypotheses, vocabulary).exp()
    offset = torch.randn(5, hypotheses)
    found = best_extensions(logits, offset, count)
    sums = (logits + offset.unsqueeze(-1)).flatten(1)
    value, position = sums.sort(dim=1, descending=True)
    wanted = min(count, hypotheses * vocabulary)
    assert torch.equal(found.log_probability_AN, value[:, :wanted])
    assert torch.equal(found.origin_AN * vocabulary + found.token_AN, position[:, :wanted])


def test_several_of_the_best_may_lie_side_by_side() -> None:
    logits = torch.zeros(1, 2, 1000)
    logits[0, 1, 128:132] = torch.tensor([4.0, 5.0, 6.0, 7.0])
    found = best_extensions(logits, torch.zeros(1, 2), 4)
    assert found.token_AN.tolist() == [[131, 130, 129, 128]]
    assert found.origin_AN.tolist() == [[1, 1, 1, 1]]


def test_an_empty_place_is_not_extended_while_there_are_others() -> None:
    logits = torch.zeros(1, 2, 200)
    found = best_extensions(logits, torch.tensor([[-torch.inf, 0.0]]), 4)
    assert found.origin_AN.tolist() == [[1, 1, 1, 1]]


@pytest.mark.parametrize(("rows", "vocabulary"), [(1, 3), (300, 5000), (3, 2**19 + 1)])
def test_log_sum_exp_is_of_every_row(rows: int, vocabulary: int) -> None:
    logits = 20 * torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(log_sum_exp(logits), logits.double().logsumexp(-1).float())
