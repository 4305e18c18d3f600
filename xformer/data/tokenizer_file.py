"""The tokenizer of a run folder, whichever of its kinds the file holds."""

from __future__ import annotations

import json
from pathlib import Path

from xformer.data.tokenizer import Tokenizer
from xformer.data.two_sided import FORMAT, TwoSided
from xformer.errors import UserError


def load_tokenizer(path: Path) -> Tokenizer:
    """Read what `save` of any tokenizer wrote; raises UserError for anything else."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        values = None
    if not isinstance(values, dict) or values.get("xformer") != FORMAT:
        return Tokenizer.load(path)  # which says what is wrong with a file that is none
    try:
        return TwoSided.read(values)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise UserError(f"{path}: not a tokenizer ({error!r}). Import the model again.") from None
