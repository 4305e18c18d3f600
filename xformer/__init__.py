"""xformer: "Attention Is All You Need" row by row, with modern variants set against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xformer.runs.translator import load

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    """`xformer.load`, with what it needs imported only when it is asked for: torch takes seconds."""
    if name == "load":
        from xformer.runs.translator import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
