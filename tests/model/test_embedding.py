"""Source embedding, target embedding and output projection share what the tying says."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.model.configs import SMALL, VOCABULARY
from xformer.model import build

IDS = torch.tensor([[5, 9]])


@pytest.mark.parametrize(("tying", "matrices"), [("three_way", 1), ("target", 2), ("none", 3)])
def test_there_are_as_many_matrices_as_are_not_tied(tying, matrices):
    model = build(replace(SMALL, tying=tying), VOCABULARY)
    assert len(list(model.embedding.parameters())) == matrices


@pytest.mark.parametrize("tying", ["three_way", "target"])
def test_the_output_scores_against_the_target_embeddings(tying):
    embedding = build(replace(SMALL, tying=tying, embedding_scale=False), VOCABULARY).embedding
    hidden = torch.randn(2, 16)
    expected = hidden @ embedding.target(torch.arange(VOCABULARY)).T
    torch.testing.assert_close(embedding.logits(hidden), expected)


def test_untied_matrices_are_independent():
    model = build(replace(SMALL, tying="none"), VOCABULARY)
    assert not torch.equal(model.embedding.source(IDS), model.embedding.target(IDS))


def test_embeddings_are_scaled_by_the_root_of_d_model_and_logits_are_not():
    embedding = build(SMALL, VOCABULARY).embedding
    weight = embedding.weight_WD["shared"]
    torch.testing.assert_close(embedding.source(IDS), 4 * weight[IDS])  # sqrt(16)
    torch.testing.assert_close(embedding.logits(weight[5]), weight @ weight[5])
    plain = build(replace(SMALL, embedding_scale=False), VOCABULARY).embedding
    torch.testing.assert_close(plain.target(IDS), plain.weight_WD["shared"][IDS])
