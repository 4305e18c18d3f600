"""A foreign vocabulary keeps every row, and control tokens that share one each get their own."""

from __future__ import annotations

import torch

from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.exchange.rows import arrange


def test_our_own_order_stays() -> None:
    rows = arrange(7, {PAD: 0, BOS: 1, EOS: 2, UNK: 3})
    assert rows.old == list(range(7))
    assert not rows.copies


def test_a_decoder_that_starts_with_padding_has_one_row_more() -> None:
    rows = arrange(6, {PAD: 5, BOS: 5, EOS: 0, UNK: 1})
    assert rows.old == [5, 5, 0, 1, 2, 3, 4]
    assert rows.copies == {PAD}
    matrix = rows.matrix(torch.arange(12.0).view(6, 2))
    assert matrix[:, 0].tolist() == [10.0, 10.0, 0.0, 2.0, 4.0, 6.0, 8.0]
    assert rows.bias(torch.arange(6.0)).tolist() == [-1e4, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_tokens_that_there_are_none_of_are_never_written() -> None:
    rows = arrange(4, {PAD: None, BOS: 2, EOS: 2, UNK: None})
    assert rows.copies == {PAD, UNK, BOS}
    assert rows.old[BOS] == rows.old[EOS] == 2
    assert sorted(set(rows.old)) == [0, 1, 2, 3]  # none is lost
    assert torch.equal(torch.tensor(rows.old[4:]), torch.tensor([0, 1, 3]))
