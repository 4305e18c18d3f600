"""What `inspect` prints can be held against the paper's table."""

from __future__ import annotations

import json

from tests.system.commands import Command
from xformer.config.compose import compose
from xformer.inspection.summary import counted_parameters, inspect
from xformer.study.paper import paper_rows


def test_a_row_is_printed_under_the_tables_own_names(xformer: Command) -> None:
    (row,) = (row for row in paper_rows() if row.experiment == "B_dk16")
    ended = xformer("inspect", "experiments=table3/B_dk16", "scale=paper", "--json")
    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout)
    sizes = ("layers", "d_model", "d_ff", "heads", "d_k", "d_v")
    for name in (*sizes, "dropout", "label_smoothing", "position", "updates"):
        assert printed[name] == getattr(row, name), name
    assert printed["vocabulary"] == 37000
    assert printed["parameters"] == printed["parameters_closed_form"]


def test_the_base_model_has_the_known_number_of_parameters() -> None:
    assert counted_parameters(compose(["scale=paper"]).model, 37000) == 63_082_496


def test_the_text_names_every_part_with_parameters() -> None:
    text = inspect(compose(["model/position=learned"]), as_json=False)
    for part in ("embedding", "encoder.position", "decoder.cross_attention"):
        assert part in text
