"""Length penalty and length limits, by hand."""

from __future__ import annotations

import pytest
import torch

from xformer.decoding.length import length_limits, length_penalty


@pytest.mark.parametrize(
    ("length", "alpha", "penalty"), [(1.0, 0.6, 1.0), (7.0, 1.0, 2.0), (13.0, 0.5, 3**0.5), (40.0, 0.0, 1.0)]
)
def test_penalty_is_five_plus_length_over_six_to_alpha(length: float, alpha: float, penalty: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx(penalty)
    assert length_penalty(torch.tensor(length), alpha).item() == pytest.approx(penalty)


def test_limit_is_source_length_plus_extra() -> None:
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert length_limits(mask, 50, None).tolist() == [52, 53]
    assert length_limits(mask, 50, 53).tolist() == [52, 53]
    assert length_limits(mask, 50, 20).tolist() == [20, 20]


def test_bounds_on_the_text_leave_room_for_its_end() -> None:
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert length_limits(mask, 5, None, max_length=6).tolist() == [7, 7]
    assert length_limits(mask, 5, None, min_length=7).tolist() == [8, 8]
    assert length_limits(mask, 5, 8, min_length=7, max_length=9).tolist() == [8, 8]


def test_an_empty_source_still_has_room_for_eos() -> None:
    assert length_limits(torch.zeros(1, 3, dtype=torch.bool), 0, None).tolist() == [1]
