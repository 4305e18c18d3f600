"""The maps of a pair: every kind, layer and head in its place, with the tokens along its sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.attention_maps.models import OneStack, made_up, model_of, tokens
from tests.model.configs import SMALL, VARIANTS
from xformer.attention_maps.maps import Kind, cells, grids, only
from xformer.attention_maps.tokens import Pair
from xformer.errors import UserError
from xformer.model.recording import record_attention

ALL = tokens("pad", "bos", "eos", "unk", "a", "b", "c", "d", "e")
PAIR = Pair(source=(*ALL[4:9], ALL[2]), target=(ALL[1], ALL[5], ALL[6]), written=(ALL[5], ALL[6], ALL[2]))


def test_each_kind_has_a_grid_of_layers_and_heads_between_its_tokens() -> None:
    model = model_of(replace(SMALL, layers=3, heads=4, key_value_heads=4))
    found = grids(model, PAIR)
    assert [grid.kind for grid in found] == ["encoder", "decoder", "cross"]
    encoder, decoder, cross = found
    assert [grid.weights_LHTS.shape for grid in found] == [(3, 4, 6, 6), (3, 4, 3, 3), (3, 4, 3, 6)]
    assert encoder.queries == encoder.keys == cross.keys == PAIR.source
    assert decoder.queries == decoder.keys == cross.queries == PAIR.target
    assert decoder.written == cross.written == PAIR.written
    assert encoder.written == (None,) * 6
    assert {grid.border for grid in found} == {0}
    assert cells(found) == 12 * (36 + 9 + 18)


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)])
def test_layers_and_heads_stand_in_the_models_order(heads: tuple[int, int]) -> None:
    """With shared keys and values too, there is a map for every query head."""
    model = model_of(replace(SMALL, heads=heads[0], key_value_heads=heads[1]))
    found = {grid.kind: grid for grid in grids(model, PAIR)}
    source = torch.tensor([[token.id for token in PAIR.source]])
    target = torch.tensor([[token.id for token in PAIR.target]])
    with torch.no_grad(), record_attention(model) as calls:
        model(source, torch.ones_like(source, dtype=torch.bool), target)
    weights = {call.name: call.weights_BHTS[0].numpy() for call in calls}
    for layer in range(2):
        for kind, name in [
            ("encoder", f"encoder.layers.{layer}.attention"),
            ("decoder", f"decoder.layers.{layer}.attention"),
            ("cross", f"decoder.layers.{layer}.cross_attention"),
        ]:
            assert weights[name].shape[0] == 4
            np.testing.assert_array_equal(found[kind].weights_LHTS[layer], weights[name])
    assert len({each.tobytes() for grid in found.values() for each in grid.weights_LHTS.reshape(8, -1)}) == 24


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_row_of_every_map_sums_to_one(variant: str) -> None:
    found = grids(model_of(VARIANTS[variant]), PAIR)
    assert found
    for grid in found:
        assert grid.weights_LHTS.shape[2:] == (len(grid.queries), len(grid.keys))
        np.testing.assert_allclose(grid.weights_LHTS.sum(-1), 1, atol=1e-6)
        assert grid.weights_LHTS.min() >= 0


def test_the_decoder_sees_no_later_token_and_the_encoder_sees_all() -> None:
    encoder, decoder, cross = grids(model_of(SMALL), PAIR)
    assert (np.triu(decoder.weights_LHTS, 1) == 0).all()
    assert (np.tril(decoder.weights_LHTS)[..., np.tri(3) > 0] > 0).all()
    assert (encoder.weights_LHTS > 0).all()
    assert (cross.weights_LHTS > 0).all()


def test_a_single_stack_gives_one_kind_over_both_sentences() -> None:
    (joint,) = grids(OneStack(), PAIR)
    assert joint.kind == "joint"
    assert joint.queries == joint.keys == PAIR.source + PAIR.target
    assert joint.written == (None,) * 6 + PAIR.written
    assert joint.border == 6
    assert joint.weights_LHTS.shape == (2, 2, 9, 9)
    assert (joint.weights_LHTS[:, :, :6, :6] > 0).all()
    assert (joint.weights_LHTS[:, :, :6, 6:] == 0).all()
    assert (np.triu(joint.weights_LHTS, 1)[:, :, 6:] == 0).all()


def test_one_map_is_taken_out_with_its_numbers() -> None:
    maps = made_up()
    (one,) = only(maps, "cross", 2, 3).grids
    assert (one.kind, one.first_layer, one.first_head, one.layers, one.heads) == ("cross", 2, 3, 1, 1)
    assert np.array_equal(one.weights_LHTS[0, 0], maps.grids[2].weights_LHTS[1, 2])
    by_head = only(maps, head=2).grids
    assert [(grid.kind, grid.layers, grid.first_head) for grid in by_head] == [
        ("encoder", 2, 2), ("decoder", 2, 2), ("cross", 2, 2),
    ]  # fmt: skip
    assert [grid.weights_LHTS.shape for grid in only(maps).grids] == [
        grid.weights_LHTS.shape for grid in maps.grids
    ]


@pytest.mark.parametrize(
    ("kind", "layer", "head", "said"),
    [
        (
            "joint",
            None,
            None,
            "--kind joint: the model has no such map; it has encoder (1–2 layers",
        ),
        (None, 3, None, "--layer 3: "),
        ("cross", 1, 0, "--kind cross --layer 1 --head 0: "),
        (None, None, -1, "--head -1: "),
    ],
)
def test_a_map_that_is_not_there_is_named_with_those_that_are(
    kind: Kind | None, layer: int | None, head: int | None, said: str
) -> None:
    with pytest.raises(UserError) as refusal:
        only(made_up(), kind, layer, head)
    assert str(refusal.value).startswith(said)


def test_dropout_is_off_and_the_model_goes_on_as_it_was() -> None:
    model = model_of(replace(SMALL, dropout=0.5)).train()
    first, second = grids(model, PAIR), grids(model, PAIR)
    assert model.training
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.weights_LHTS, b.weights_LHTS)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_diverged_model_is_refused() -> None:
    model = model_of(SMALL)
    with torch.no_grad():
        model.decoder.layers[0].attention.input.weight.fill_(float("nan"))
    with pytest.raises(UserError, match="diverged"):
        grids(model, PAIR)


def test_weights_that_do_not_fit_the_tokens_are_an_error_and_no_picture() -> None:
    class Longer(OneStack):
        def forward(self, source_BS: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
            return super().forward(torch.cat([source_BS, source_BS], 1), *rest)

    with pytest.raises(ValueError, match="9 × 9 tokens"):
        grids(Longer(), PAIR)
