"""The paper's Table 3, as printed, with its blanks filled in from the base row (arXiv 1706.03762)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class PaperRow:
    """One line of Table 3: what the authors trained, and what they measured on newstest2013.

    `dev_ppl` is per word piece. `params_millions` is None where the paper prints no count; the counts
    it does print belong to a vocabulary that it does not state, so they are shown and never asserted.
    """

    experiment: str
    paper_row: str
    layers: int
    d_model: int
    d_ff: int
    heads: int
    d_k: int
    d_v: int
    dropout: float
    label_smoothing: float
    position: str
    updates: int
    dev_ppl: float
    dev_bleu: float
    params_millions: int | None

    @property
    def name(self) -> str:
        """What `experiments=` calls this row."""
        return f"table3/{self.experiment}"


@cache
def paper_rows() -> tuple[PaperRow, ...]:
    """All twenty rows in the order in which the paper prints them."""
    text = resources.files("xformer.study").joinpath("table3.csv").read_text(encoding="utf-8")
    return tuple(_row(cells) for cells in csv.DictReader(text.splitlines()))


def _row(cells: dict[str, str]) -> PaperRow:
    return PaperRow(
        experiment=cells["experiment"],
        paper_row=cells["paper_row"],
        layers=int(cells["layers"]),
        d_model=int(cells["d_model"]),
        d_ff=int(cells["d_ff"]),
        heads=int(cells["heads"]),
        d_k=int(cells["d_k"]),
        d_v=int(cells["d_v"]),
        dropout=float(cells["dropout"]),
        label_smoothing=float(cells["label_smoothing"]),
        position=cells["position"],
        updates=int(cells["updates"]),
        dev_ppl=float(cells["dev_ppl"]),
        dev_bleu=float(cells["dev_bleu"]),
        params_millions=int(cells["params_millions"]) if cells["params_millions"] else None,
    )
