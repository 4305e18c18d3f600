"""Soft alignment against attention computed by hand, and its format."""

from __future__ import annotations

import pytest
import torch

from tests.model.configs import VARIANTS
from xformer.data.vocabulary import BOS, EOS
from xformer.decoding.alignment import align, pharaoh
from xformer.errors import UserError
from xformer.model import build

SOURCES = [[5, 6, 7, EOS], [EOS], [9, 10, 11, 12, 13, 14, EOS], [8, EOS], [15, 16, EOS]]
TARGETS = [[20, 21], [22, 23], [24, 25, 26, 27, 28], [29], []]


def model_of(variant: str) -> torch.nn.Module:
    """Random weights, with sharper attention than they would have."""
    torch.manual_seed(0)
    model = build(VARIANTS[variant], 40).eval()
    with torch.no_grad():
        model.decoder.layers[-1].cross_attention.query.weight.mul_(10)
    return model


@torch.no_grad()
def by_hand(model, source: list[int], target: list[int]) -> list[tuple[int, int]]:
    """Alone, without a mask, from what goes into the last cross-attention."""
    cross = model.decoder.layers[-1].cross_attention
    inputs = []
    hook = cross.register_forward_hook(lambda _, args, __: inputs.append(args))
    model(torch.tensor([source]), torch.ones(1, len(source)).bool(), torch.tensor([[BOS, *target]]))
    hook.remove()
    x_1TD, (k_1GSK, _), _ = inputs[0]
    queries = cross.query(x_1TD)[0][0].unflatten(-1, (cross.heads, -1))  # (T, H, K)
    pairs = []
    for t in range(len(target)):
        weight = torch.zeros(len(source))
        for h in range(cross.heads):
            keys = k_1GSK[0, h * cross.key_value_heads // cross.heads]  # (S, K)
            weight += (keys @ queries[t, h] * cross.scale).softmax(-1) / cross.heads
        pairs.append((int(weight[:-1].argmax()), t))  # not the EOS
    return pairs


@pytest.mark.parametrize("variant", ["paper", "fused", "unequal_heads", "multi_query_fused", "all_at_once"])
@pytest.mark.parametrize("tokens_per_batch", [1, 1000])
def test_each_output_token_has_the_source_token_of_most_weight(variant: str, tokens_per_batch: int) -> None:
    model = model_of(variant)
    found = align(model, SOURCES, TARGETS, tokens_per_batch)
    assert found[1] == []  # no source
    assert found[4] == []  # no target
    for i in (0, 2, 3):
        assert found[i] == by_hand(model, SOURCES[i], TARGETS[i])
    assert len({source for alignment in found for source, _ in alignment}) > 1


def test_the_model_is_as_it_was_after() -> None:
    model = model_of("paper")
    align(model, SOURCES, TARGETS, 100)
    assert all("attend" not in vars(layer.cross_attention) for layer in model.decoder.layers)


def test_a_model_without_cross_attention_has_none() -> None:
    model = model_of("paper")
    for layer in model.decoder.layers:
        layer.cross_attention = torch.nn.Identity()
    with pytest.raises(UserError, match="no cross-attention"):
        align(model, SOURCES, TARGETS, 100)


def test_pharaohs_format_is_source_dash_target() -> None:
    assert pharaoh([(3, 0), (0, 1)]) == "3-0 0-1"
    assert pharaoh([]) == ""
