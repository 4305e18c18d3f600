"""What the page's tables are sorted by, and which columns come first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.study.folders import write_run
from xformer.study.collect import collect
from xformer.study.measured import row_name
from xformer.study.table import build_tables
from xformer.study.web.cells import Grid, grid, order_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("25.8", 25.8),
        ("1.88 ± 0.03", 1.88),
        ("63,082,496", 63_082_496),
        ("1.26 M", 1.26e6),
        ("512 MiB", 512 * 2**20),
        ("1.5 GiB", 1.5 * 2**30),
        ("−17.00 ± 2.13†", -17.0),
        ("+0.30 ± 1.00", 0.3),
        ("<0.001", 0.001),
        ("± 0.20", 0.2),
        ("2e+07", 2e7),
        ("–", None),
        ("", None),
    ],
)
def test_cells_are_sorted_by_the_number_at_their_head(text: str, value: float | None) -> None:
    assert order_of(text) == (None if value is None else pytest.approx(value))


def paper_grid(root: Path) -> Grid:
    (table,), _ = build_tables(collect(root))
    anchors = {row_name(row): "here" for row in table.rows if row.runs}
    return grid("Table 3", table.paper_block, anchors, "tiny", None)


def test_name_state_and_scores_stand_before_sizes(tmp_path: Path) -> None:
    write_run(tmp_path)
    found = paper_grid(tmp_path)
    assert found.titles[:6] == ("row", "name", "state", "dev PPL", "dev BLEU", "test BLEU")
    assert found.titles[-1] == "updates"
    assert sum(columns for _, columns in found.groups) == len(found.titles) == len(found.kinds)


def test_states_are_words_with_a_look_of_their_own(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1", state="diverged")
    looks = {line.cells[1].text: line.cells[2] for line in paper_grid(tmp_path).lines}
    assert (looks["base"].text, looks["base"].look) == ("finished", "state finished")
    assert (looks["A_h1"].text, looks["A_h1"].look) == ("diverged", "state other")
    assert (looks["big"].text, looks["big"].look) == ("missing", "state missing")


def test_only_rows_that_ran_lead_to_more(tmp_path: Path) -> None:
    write_run(tmp_path)
    assert [line.anchor for line in paper_grid(tmp_path).lines].count("here") == 1
