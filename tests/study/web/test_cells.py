"""What the page's tables are sorted by, and which columns come first."""

from __future__ import annotations

from pathlib import Path

from tests.study.folders import result, scores, write_run
from tests.study.planted import plant
from xformer.study.collect import collect
from xformer.study.columns import LETTER, NAME, STATE, columns_of
from xformer.study.measured import row_name
from xformer.study.report import build_report
from xformer.study.table import build_tables
from xformer.study.text import ABSENT
from xformer.study.web.cells import Grid, grid


def paper_grid(root: Path) -> Grid:
    (table,), _ = build_tables(collect(root))
    anchors = {row_name(row): "here" for row in table.rows if row.runs}
    return grid("Table 3", table.paper_block, anchors, "tiny", None)


def test_figures_are_sorted_by_what_they_are_and_not_as_they_are_written(tmp_path: Path) -> None:
    for name, bleu in (("base", 25.81), ("A_h1", 25.84), ("A_h4", 99.0)):
        write_run(tmp_path, f"table3/{name}", outcome=result(parameters=1_263_000, test=scores(bleu, 3.0)))
    found = paper_grid(tmp_path)
    cells = {line.cells[1].text: dict(zip(found.titles, line.cells, strict=True)) for line in found.lines}
    base, one = cells["base"]["test BLEU"], cells["A_h1"]["test BLEU"]
    assert (base.text, one.text) == ("25.8", "25.8")
    assert (base.order, one.order, cells["A_h4"]["test BLEU"].order) == (25.81, 25.84, 99.0)
    assert cells["base"]["counted"].order == 1_263_000
    assert cells["big"]["test BLEU"].order is None


def test_every_figure_that_is_written_can_be_sorted_by(tmp_path: Path) -> None:
    plant(tmp_path)
    report = build_report(tmp_path)
    for table, findings in zip(report.tables, report.findings, strict=True):
        for column in columns_of(table.rows, "tiny", findings):
            if column.group not in (LETTER, NAME, STATE):
                assert all((column.number(row) is None) == (column.cell(row) == ABSENT) for row in table.rows)


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
