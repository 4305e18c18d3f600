"""At `scale=paper` every row of Table 3 is the paper's, to the digit."""

from __future__ import annotations

import json

import pytest

from tests.system.commands import Command
from xformer.config.compose import compose
from xformer.study.paper import PaperRow, paper_rows

ROWS = {row.experiment: row for row in paper_rows()}


def test_the_paper_prints_twenty_rows() -> None:
    assert len(ROWS) == 20


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_at_the_papers_scale_is_the_papers(row: PaperRow) -> None:
    config = compose([f"experiments=table3/{row.experiment}", "scale=paper"])
    model = config.model
    assert (model.layers, model.d_model, model.d_ff) == (row.layers, row.d_model, row.d_ff)
    assert (model.heads, model.d_k, model.d_v) == (row.heads, row.d_k, row.d_v)
    assert model.key_value_heads == row.heads
    assert (model.dropout, config.optim.label_smoothing) == (row.dropout, row.label_smoothing)
    assert (model.position.kind, config.trainer.updates) == (row.position, row.updates)


def test_inspect_prints_a_row_under_the_tables_own_names(xformer: Command) -> None:
    row = ROWS["B_dk16"]
    ended = xformer("inspect", "experiments=table3/B_dk16", "scale=paper", "--json")
    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout)
    for name in (
        "layers",
        "d_model",
        "d_ff",
        "heads",
        "d_k",
        "d_v",
        "dropout",
        "label_smoothing",
        "position",
        "updates",
    ):
        assert printed[name] == getattr(row, name), name
    assert printed["vocabulary"] == 37000
    assert printed["parameters"] == printed["parameters_closed_form"]
