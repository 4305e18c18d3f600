"""Masks say True = may be attended, and are only as large as they must be."""

from __future__ import annotations

import torch

from xformer.model.masks import Mask, causal_mask, padding_mask


def test_true_means_may_be_attended():
    mask = padding_mask(torch.tensor([[True, True, False], [True, False, False]]))
    assert mask.allowed is not None
    assert mask.allowed.shape == (2, 1, 1, 3)
    assert mask.allowed[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]
    assert mask.empty is None


def test_a_batch_without_padding_needs_no_mask():
    assert padding_mask(torch.ones(2, 3, dtype=torch.bool)) == Mask()


def test_a_sentence_without_tokens_is_marked_empty_and_opened():
    mask = padding_mask(torch.tensor([[True, False], [False, False]]))
    assert mask.allowed is not None
    assert mask.empty is not None
    assert mask.empty.flatten().tolist() == [False, True]
    assert mask.allowed[:, 0, 0].tolist() == [[True, False], [True, True]]


def test_a_query_sees_itself_and_the_past():
    mask = causal_mask(3, torch.device("cpu"))
    assert mask.allowed is not None
    expected = [[True, False, False], [True, True, False], [True, True, True]]
    assert mask.allowed[0, 0].tolist() == expected
    assert mask.causal


def test_a_biased_mask_no_longer_passes_for_purely_causal():
    assert not causal_mask(3, torch.device("cpu")).with_bias(torch.zeros(1, 3, 3)).causal


def test_selecting_rows_reorders_and_repeats_sentences():
    mask = padding_mask(torch.tensor([[True, False], [True, True], [False, False]]))
    chosen = mask.select(torch.tensor([2, 0, 0]))
    assert chosen.allowed is not None
    assert chosen.empty is not None
    assert chosen.allowed[:, 0, 0].tolist() == [[True, True], [True, False], [True, False]]
    assert chosen.empty.flatten().tolist() == [True, False, False]
