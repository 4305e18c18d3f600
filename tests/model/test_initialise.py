"""Initial weights follow from the seed alone, matrix by matrix."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.model.configs import SMALL, VARIANTS, VOCABULARY
from xformer.model import build
from xformer.model.initialise import initialise
from xformer.model.projections import Projections


@pytest.mark.parametrize("name", VARIANTS)
def test_every_parameter_is_set_and_follows_from_the_seed(name):
    torch.manual_seed(7)
    model = build(VARIANTS[name], VOCABULARY)
    with torch.no_grad():
        wiped = build(VARIANTS[name], VOCABULARY)
        for parameter in wiped.parameters():
            parameter.fill_(math.nan)
    torch.manual_seed(7)
    initialise(wiped)
    for (name, ours), theirs in zip(model.named_parameters(), wiped.parameters(), strict=True):
        assert torch.equal(ours, theirs), name


def test_building_draws_nothing_beyond_the_initial_weights():
    torch.manual_seed(7)
    first = torch.nn.init.normal_(torch.empty(VOCABULARY, SMALL.d_model), std=SMALL.d_model**-0.5)
    torch.manual_seed(7)
    assert torch.equal(build(SMALL, VOCABULARY).embedding.weight_WD["shared"], first)


def test_packed_matrices_are_drawn_as_if_they_were_separate():
    torch.manual_seed(7)
    packed = Projections(16, {"query": 24, "key": 8, "value": 40}, bias=True)
    initialise(packed)
    torch.manual_seed(7)
    for rows, (_, matrix) in zip((24, 8, 40), packed.matrices(), strict=True):
        separate = torch.nn.init.xavier_uniform_(torch.empty(rows, 16))
        assert torch.equal(matrix, separate)
        assert matrix.abs().max() <= math.sqrt(6 / (rows + 16))


def test_matrices_are_glorot_uniform_embeddings_normal_biases_zero_gains_one():
    torch.manual_seed(7)
    model = build(replace(SMALL, d_model=128, d_ff=512, d_k=64, d_v=64), 2000)
    for name, parameter in model.named_parameters():
        if "embedding" in name:
            assert parameter.std().item() == pytest.approx(128**-0.5, rel=0.02)
        elif name.endswith("bias"):
            assert (parameter == 0).all(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
    inner = model.encoder.layers[0].feedforward.inner.weight
    bound = math.sqrt(6 / (128 + 512))
    assert inner.abs().max().item() == pytest.approx(bound, rel=0.01)
    assert inner.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_scaled_embeddings_start_at_unit_variance():
    torch.manual_seed(7)
    embedding = build(replace(SMALL, d_model=128), 2000).embedding
    assert embedding.source(torch.arange(2000)).std().item() == pytest.approx(1.0, rel=0.02)
