"""Pictures without a display: always on white, letters as text, the same bytes for the same figure."""

from __future__ import annotations

import io
from collections.abc import Callable

from matplotlib import style
from matplotlib.figure import Figure


def svg(draw: Callable[[], Figure]) -> str:
    """The figure that `draw` returns, whatever the user's own matplotlibrc says."""
    out = io.StringIO()
    with style.context(["default", {"svg.hashsalt": "xformer", "svg.fonttype": "none"}]):
        draw().savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def shortened(label: str, letters: int) -> str:
    """The label, cut to so many letters."""
    return label if len(label) <= letters else label[: letters - 1] + "…"
