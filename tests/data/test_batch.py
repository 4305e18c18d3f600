"""A batch holds its sentences and nothing else, and an evaluation set each of its lines once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from xformer.data.batch import Batch, collate, evaluation_batches
from xformer.data.prepare import EvaluationSet
from xformer.data.store import Pair, ParallelStore
from xformer.data.vocabulary import BOS, EOS, PAD

ids = st.lists(st.integers(4, 299), max_size=9)
pairs = st.lists(st.tuples(ids, ids), min_size=1, max_size=12)


def evaluation_set(pairs: list[Pair]) -> EvaluationSet:
    return EvaluationSet(ParallelStore.from_pairs(pairs, 300), [""] * len(pairs), [""] * len(pairs))


def test_a_batch_by_hand() -> None:
    store = ParallelStore.from_pairs([([5, 6, 7], [8]), ([9], [10, 11])], 300)
    batch = collate(store, [1, 0])
    assert batch.source_BS.tolist() == [[9, EOS, PAD, PAD], [5, 6, 7, EOS]]
    assert batch.source_mask_BS.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.target_in_BT.tolist() == [[BOS, 10, 11], [BOS, 8, PAD]]
    assert batch.target_out_BT.tolist() == [[10, 11, EOS], [8, EOS, PAD]]
    assert (batch.source_tokens, batch.target_tokens) == (6, 5)
    assert batch.source_BS.dtype == batch.target_in_BT.dtype == batch.target_out_BT.dtype == torch.int64
    assert batch.source_mask_BS.dtype == torch.bool


def test_empty_sides_still_have_their_control_token() -> None:
    batch = collate(ParallelStore.from_pairs([([], [])], 300), [0])
    assert batch.source_BS.tolist() == batch.target_out_BT.tolist() == [[EOS]]
    assert batch.target_in_BT.tolist() == [[BOS]]


@settings(deadline=None)
@given(pairs=pairs, data=st.data())
def test_any_sentences_can_be_read_back_from_their_batch(pairs: list[Pair], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(pairs))))
    batch = collate(ParallelStore.from_pairs(pairs, 300), order)
    for row, i in enumerate(order):
        source, target = pairs[i]
        assert batch.source_BS[row, : len(source) + 1].tolist() == [*source, EOS]
        assert batch.target_in_BT[row, : len(target) + 1].tolist() == [BOS, *target]
        assert batch.target_out_BT[row, : len(target) + 1].tolist() == [*target, EOS]
        assert batch.source_mask_BS[row].tolist() == [
            s <= len(source) for s in range(batch.source_BS.shape[1])
        ]
    assert batch.source_tokens == int((batch.source_BS != PAD).sum()) == int(batch.source_mask_BS.sum())
    assert (
        batch.target_tokens
        == int((batch.target_out_BT != PAD).sum())
        == int((batch.target_in_BT != PAD).sum())
    )


def test_a_moved_batch_is_the_same_batch() -> None:
    batch = collate(ParallelStore.from_pairs([([5, 6, 7], [8])], 300), [0])
    moved = batch.to("meta")
    assert {
        t.device.type
        for t in (moved.source_BS, moved.source_mask_BS, moved.target_in_BT, moved.target_out_BT)
    } == {"meta"}
    assert (moved.source_tokens, moved.target_tokens) == (4, 2)
    assert batch.to("cpu") is not batch
    assert torch.equal(batch.to("cpu", non_blocking=True).target_out_BT, batch.target_out_BT)


# --- evaluation ------------------------------------------------------------------------------


@settings(deadline=None)
@given(pairs=pairs, budget=st.integers(1, 40))
def test_evaluation_batches_hold_each_line_once_within_the_budget(pairs: list[Pair], budget: int) -> None:
    batches = evaluation_batches(evaluation_set(pairs), budget)
    assert sorted(np.concatenate([indices for indices, _ in batches]).tolist()) == list(range(len(pairs)))
    for indices, batch in batches:
        assert len(indices) == len(batch.source_BS) == len(batch.target_in_BT)
        assert len(indices) == 1 or max(batch.source_BS.numel(), batch.target_out_BT.numel()) <= budget
        for row, i in enumerate(indices):
            assert batch.target_out_BT[row, : len(pairs[i][1]) + 1].tolist() == [*pairs[i][1], EOS]


def test_evaluation_goes_from_short_to_long_and_fills_its_batches() -> None:
    lengths = [3, 9, 1, 4, 4, 2, 8, 8]
    batches = evaluation_batches(evaluation_set([([5] * n, [6] * n) for n in lengths]), 20)
    assert [[lengths[i] for i in indices] for indices, _ in batches] == [[1, 2, 3, 4], [4, 8], [8, 9]]


def test_a_sentence_over_the_budget_is_evaluated_alone() -> None:
    batches = evaluation_batches(evaluation_set([([5] * 50, [6]), ([5], [6])]), 10)
    assert [indices.tolist() for indices, _ in batches] == [[1], [0]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="page-locked memory needs a GPU")
def test_a_pinned_batch_is_the_same_batch() -> None:
    batch = collate(ParallelStore.from_pairs([([5, 6, 7], [8])], 300), [0])
    pinned = batch.pin_memory()
    assert isinstance(pinned, Batch)
    assert pinned.source_BS.is_pinned()
    assert torch.equal(pinned.target_in_BT, batch.target_in_BT)
