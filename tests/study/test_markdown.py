"""The report as Markdown."""

from __future__ import annotations

from pathlib import Path

from tests.study.folders import result, write_failed, write_run
from tests.study.test_text import rendered
from xformer.study.collect import collect
from xformer.study.markdown import report_markdown
from xformer.study.paper import paper_rows
from xformer.study.table import build_tables


def markdown(root: Path) -> str:
    tables, unplaced = build_tables(collect(root))
    return report_markdown(tables, unplaced, ("a verdict",))


def row(text: str, name: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if f" | {name} | " in line)
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_every_row_has_all_columns_with_its_own_figures(tmp_path: Path) -> None:
    for paper in paper_rows():
        write_run(tmp_path, paper.name, outcome=result(2.5 * paper.dev_bleu, paper.dev_ppl / 2))
    text = markdown(tmp_path)
    assert row(text, "B_dk16") == [
        *("B", "B_dk16", "3", "64", "256", "8", "2", "8", "0.1", "0.1", "600", "2.58", "62.8", "61.8"),
        *("5.16", "25.1", "58", "483,072", "483,072", "1.26 M", "12,346", "512 MiB", "finished"),
    ]
    assert len({tuple(row(text, paper.experiment)) for paper in paper_rows()}) == 20


def test_headings_name_what_is_measured_and_what_the_paper_printed(tmp_path: Path) -> None:
    write_run(tmp_path)
    text = markdown(tmp_path)
    assert "measured (scale=tiny)<br>dev BLEU" in text
    assert "paper (scale=paper, WMT14)<br>BLEU" in text


def test_states_reasons_and_verdict_are_there(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1", state="failed", reason="killed by signal 9")
    write_failed(tmp_path, "modern/rope", reason="train.de: no such file")
    write_run(tmp_path, "table3/base", seed=2, outcome=result(data_hash="changed"))
    text = markdown(tmp_path)
    assert "- a verdict" in text
    assert "- table3/A_h1 seed 1: failed: killed by signal 9" in text
    assert "## Could not start\n\n- modern/rope: train.de: no such file" in text
    assert text.count("| missing |") == 18 + 19


def test_hostile_text_of_a_configuration_stays_text(tmp_path: Path) -> None:
    hostile = "model.x='<img src=x onerror=alert(1)> | a | `b`'"
    write_run(tmp_path, "custom", overrides=(hostile,))
    write_run(tmp_path, "modern/rope", state="failed", reason="<script>\n\n# x\n| y |")
    found = rendered(markdown(tmp_path))
    assert f"custom {hostile}" in [cell.strip() for cell in found.cells]
    assert found.tags <= {
        "h1",
        "h2",
        "h3",
        "ul",
        "li",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "br",
    }
