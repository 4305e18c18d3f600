"""The maps as numbers: complete, in order, and readable without this program."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from tests.attention_maps.models import made_up
from xformer.attention_maps.maps import labels
from xformer.attention_maps.values import as_json, as_npz


def test_json_has_an_entry_for_each_kind_layer_and_head() -> None:
    maps = made_up()
    data = json.loads(as_json(maps))
    order = [(entry["kind"], entry["layer"], entry["head"]) for entry in data["maps"]]
    kinds = ("encoder", "decoder", "cross")
    assert order == [(kind, layer, head) for kind in kinds for layer in (1, 2) for head in (1, 2, 3)]
    grid_of = {grid.kind: grid for grid in maps.grids}
    for entry in data["maps"]:
        grid = grid_of[entry["kind"]]
        assert entry["queries"] == labels(grid.queries)
        assert entry["keys"] == labels(grid.keys)
        weights = grid.weights_LHTS[entry["layer"] - 1, entry["head"] - 1]
        np.testing.assert_allclose(entry["weights"], weights, atol=5.1e-8)


def test_json_names_the_run_the_text_and_every_token_with_its_id() -> None:
    maps = made_up()
    data = json.loads(as_json(maps))
    assert (data["run"], data["update"], data["averaged_checkpoints"]) == (maps.run, 10, 2)
    assert data["source"]["text"] == maps.source
    assert data["target"]["text"] == maps.target
    assert data["target"]["translated"] is True
    for name, side, tokens in [
        ("tokens", "source", maps.pair.source),
        ("tokens", "target", maps.pair.target),
        ("written", "target", maps.pair.written),
    ]:
        assert data[side][name] == [{"id": token.id, "label": token.label} for token in tokens]


def test_npz_is_exact_and_needs_no_pickle() -> None:
    maps = made_up()
    with np.load(io.BytesIO(as_npz(maps)), allow_pickle=False) as arrays:
        for grid in maps.grids:
            assert arrays[grid.kind].dtype == np.float32
            np.testing.assert_array_equal(arrays[grid.kind], grid.weights_LHTS)
            assert arrays[f"{grid.kind}_first"].tolist() == [1, 1]
            assert arrays[f"{grid.kind}_queries"].tolist() == labels(grid.queries)
            assert arrays[f"{grid.kind}_keys"].tolist() == labels(grid.keys)
        assert arrays["source_ids"].tolist() == [token.id for token in maps.pair.source]
        assert arrays["target_ids"].tolist() == [token.id for token in maps.pair.target]
        assert arrays["written_ids"].tolist() == [token.id for token in maps.pair.written]
        assert str(arrays["source_text"]) == maps.source
        assert int(arrays["update"]) == 10


@pytest.mark.parametrize("write", [as_json, as_npz])
def test_the_same_maps_give_the_same_bytes(write: object) -> None:
    assert callable(write)
    assert write(made_up()) == write(made_up())
