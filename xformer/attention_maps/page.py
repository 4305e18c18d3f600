"""The maps as one page to browse: a single file that asks no network and no library for anything.

Everything that comes from the run or from the user travels as JSON in an element that browsers do not run,
its <, > and & written as escapes, and reaches the page through `textContent` or a canvas only. So no text
can end the element or become markup.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from markupsafe import Markup

from xformer.attention_maps.maps import TITLES, AttentionMaps, Grid, cells, labels
from xformer.attention_maps.values import facts
from xformer.errors import UserError
from xformer.pages import filled

LARGEST = 16_000_000  # weights; two bytes each, a third more in base64: 43 MB, about what browsers still open
_STEPS = 65_535  # of a weight in 16 bits: exact to 1/131,070


def page(maps: AttentionMaps) -> bytes:
    """Return the page. Raises UserError where the maps are more than a browser can be given."""
    if (count := cells(maps.grids)) > LARGEST:
        raise UserError(
            f"{count:,} attention weights are too many for one page ({LARGEST:,} at most): "
            "shorten the sentences, or write .npz"
        )
    data = facts(maps) | {"grids": [_packed(grid) for grid in maps.grids]}
    return filled("xformer.attention_maps", data=_inert(data)).encode()


def _packed(grid: Grid) -> dict[str, Any]:
    whole = np.rint(np.clip(grid.weights_LHTS, 0, 1) * _STEPS).astype("<u2")
    return {
        "kind": grid.kind,
        "title": TITLES[grid.kind],
        "layers": grid.layers,
        "heads": grid.heads,
        "first_layer": grid.first_layer,
        "first_head": grid.first_head,
        "queries": labels(grid.queries),
        "keys": labels(grid.keys),
        "border": grid.border,
        "written": [token and token.label for token in grid.written],
        "weights": base64.b64encode(whole.tobytes()).decode(),
    }


def _inert(data: Any) -> Markup:
    """JSON in ASCII without a character that HTML gives a meaning."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
