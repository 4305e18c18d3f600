"""A batch holds its sentences and nothing else."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings, strategies as st

from xformer.data.batch import Batch, collate
from xformer.data.store import Pair, ParallelStore
from xformer.data.vocabulary import BOS, EOS, PAD

ids = st.lists(st.integers(4, 299), max_size=9)
pairs = st.lists(st.tuples(ids, ids), min_size=1, max_size=12)


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="page-locked memory needs a GPU")
def test_a_pinned_batch_is_the_same_batch() -> None:
    batch = collate(ParallelStore.from_pairs([([5, 6, 7], [8])], 300), [0])
    pinned = batch.pin_memory()
    assert isinstance(pinned, Batch)
    assert pinned.source_BS.is_pinned()
    assert torch.equal(pinned.target_in_BT, batch.target_in_BT)
