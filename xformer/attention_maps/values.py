"""The maps as numbers, for plots of one's own: JSON for any language, .npz for numpy.

L layers, H heads, T queries, S keys.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from xformer.attention_maps.maps import AttentionMaps, labels
from xformer.attention_maps.tokens import Token

_DIGITS = 7  # after the point: what float32 can tell apart near 1


def facts(maps: AttentionMaps) -> dict[str, Any]:
    """Whose maps they are, and of which text and tokens."""
    return {
        "run": maps.run,
        "update": maps.update,
        "averaged_checkpoints": maps.averaged,
        "source": {"text": maps.source, "tokens": _named(maps.pair.source)},
        "target": {
            "text": maps.target,
            "translated": maps.translated,
            "tokens": _named(maps.pair.target),
            "written": _named(maps.pair.written),
        },
    }


def as_json(maps: AttentionMaps) -> bytes:
    """One object: `facts`, and in `maps` one entry for each map, layers and heads counted from 1."""
    entries = [
        {
            "kind": grid.kind,
            "layer": grid.first_layer + layer,
            "head": grid.first_head + head,
            "queries": labels(grid.queries),
            "keys": labels(grid.keys),
            "weights": [
                [round(weight, _DIGITS) for weight in row]
                for row in grid.weights_LHTS[layer, head].astype(float).tolist()
            ],
        }
        for grid in maps.grids
        for layer in range(grid.layers)
        for head in range(grid.heads)
    ]
    text = json.dumps(facts(maps) | {"maps": entries}, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def as_npz(maps: AttentionMaps) -> bytes:
    """For each kind: its weights (L, H, T, S) in float32, KIND_queries (T,) and KIND_keys (S,), and in
    KIND_first the model's numbers of the first layer and head.

    Beside them source_ids, target_ids and written_ids, and the text that `facts` has. Loads without pickle.
    """
    arrays: dict[str, Any] = {
        "run": maps.run,
        "update": maps.update,
        "averaged_checkpoints": maps.averaged,
        "source_text": maps.source,
        "target_text": maps.target,
        "translated": maps.translated,
        "source_ids": _ids(maps.pair.source),
        "target_ids": _ids(maps.pair.target),
        "written_ids": _ids(maps.pair.written),
    }
    for grid in maps.grids:
        arrays[grid.kind] = grid.weights_LHTS
        arrays[f"{grid.kind}_first"] = np.array([grid.first_layer, grid.first_head])
        arrays[f"{grid.kind}_queries"] = np.array(labels(grid.queries))
        arrays[f"{grid.kind}_keys"] = np.array(labels(grid.keys))
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _named(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    return [{"id": token.id, "label": token.label} for token in tokens]


def _ids(tokens: Sequence[Token]) -> Any:
    return np.array([token.id for token in tokens])
