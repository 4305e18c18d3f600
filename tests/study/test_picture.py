"""The picture of the report."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.study.folders import result, scores, write_run
from tests.study.planted import plant
from xformer.study.picture import report_svg
from xformer.study.report import build_report


def drawn(root: Path) -> str | None:
    report = build_report(root)
    return report_svg(report.tables, report.findings)


def texts(svg: str) -> list[str]:
    """What can be read in a picture."""
    return ["".join(each.itertext()).strip() for each in ElementTree.fromstring(svg).iter() if each.text]


def test_every_row_but_the_base_has_a_line(tmp_path: Path) -> None:
    plant(tmp_path)
    svg = drawn(tmp_path)
    assert svg is not None
    read = texts(svg)
    assert {"A_h1", "C_n2", "modern/rmsnorm"} <= set(read)
    assert "base" not in read


def test_a_row_of_which_some_runs_diverged_says_so(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_run(tmp_path, seed=seed, outcome=result(70.0 + seed / 10))
        write_run(tmp_path, "table3/A_h1", seed, state="finished" if seed == 3 else "diverged")
    svg = drawn(tmp_path)
    assert svg is not None
    assert "A_h1 (2 of 3 diverged)" in texts(svg)


def test_without_a_base_or_other_rows_there_is_no_picture(tmp_path: Path) -> None:
    write_run(tmp_path / "no_base", "modern/rope")
    write_run(tmp_path / "base_only", "table3/base")
    assert drawn(tmp_path / "no_base") is None
    assert drawn(tmp_path / "base_only") is None


@pytest.mark.parametrize("score", [0.0, 99.0])
def test_a_row_far_beyond_the_others_is_told_by_its_figure(tmp_path: Path, score: float) -> None:
    for seed in (1, 2):
        for name, bleu in (("base", 60.0), ("A_h1", 59.0), ("A_h4", 60.5), ("A_h16", 61.0), ("big", score)):
            outcome = result(70.0, 3.0, test=scores(bleu + 0.1 * seed, 3.0))
            write_run(tmp_path, f"table3/{name}", seed, outcome=outcome)
    svg = drawn(tmp_path)
    assert svg is not None
    assert f"{score - 60:+.1f}".replace("-", "\N{MINUS SIGN}") in texts(svg) or f"{score - 60:+.1f}" in texts(
        svg
    )


def test_text_of_a_label_is_text(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "modern/<script>$x_y$")
    svg = drawn(tmp_path)
    assert svg is not None
    assert "<script>" not in svg
    assert "modern/<script>$x_y$" in texts(svg)
