"""Blocks of rows are a matter of speed alone."""

from __future__ import annotations

from unittest import mock

import pytest
import torch

from tests.decoding.models import padded
from tests.decoding.test_transformer import SOURCES, VOCABULARY, model_of, search, settings
from tests.model.configs import VARIANTS
from xformer.data.vocabulary import BOS
from xformer.decoding import outputs
from xformer.decoding.outputs import Outputs


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_blocks_are_the_rows_in_order_and_never_part_a_sentence(rows: int) -> None:
    model = model_of(next(iter(VARIANTS.values())))
    source_BS, mask_BS = padded(SOURCES)
    token_R = torch.full((len(SOURCES) * 2,), BOS)

    def state() -> object:
        begun = model.start(source_BS, mask_BS, 5)
        begun.select(torch.arange(len(SOURCES)).repeat_interleave(2))
        return begun

    with torch.no_grad(), mock.patch.object(outputs, "BLOCK", rows * VOCABULARY):
        found = list(Outputs(model).blocks(token_R, state(), together=2))
        whole_RW = model.step(token_R, state()).log_softmax(-1)
    assert all(len(block_NW) % 2 == 0 for block_NW in found)
    assert len(found) == (len(SOURCES) if rows < 4 else 2)  # the first shows how wide a row is
    torch.testing.assert_close(torch.cat(found), whole_RW)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("variant", VARIANTS)
def test_small_blocks_find_what_one_large_block_finds(variant: str, beam: int) -> None:
    model = model_of(VARIANTS[variant])
    large = search(model, SOURCES, settings(beam, nbest=beam))
    with mock.patch.object(outputs, "BLOCK", VOCABULARY):
        small = search(model, SOURCES, settings(beam, nbest=beam))
    for some, others in zip(small, large, strict=True):
        assert [each.ids for each in some] == [each.ids for each in others]
        assert [each.score for each in some] == pytest.approx([each.score for each in others], abs=1e-5)
