"""Learning curves as a picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.study.folders import write_run
from tests.study.test_curves import HEAD
from tests.study.test_picture import texts
from xformer.study.curves_picture import curves_svg
from xformer.study.report import build_report

LOOKS = "1,10,0,5,5,1,1,1,9,1\n2,20,0,4,4,1,1,1,,\n3,30,0,4,4,1,1,1,8,1\n"


def drawn(root: Path) -> str | None:
    return curves_svg(build_report(root).tables)


def lines(svg: str) -> int:
    """Curves in the picture, by their two colours."""
    elements = ElementTree.fromstring(svg).iter()
    paths = [each.get("style", "") for each in elements if each.tag.endswith("path")]
    drawn = ("stroke: #1b5e9e; stroke-width: 0.8", "stroke: #8a8a8a; stroke-width: 0.8")
    return sum(any(look in style for look in drawn) for style in paths)


def test_every_row_with_a_curve_has_its_seeds_and_the_bases_behind(tmp_path: Path) -> None:
    for name, seeds in (("table3/base", (1, 2)), ("modern/rope", (1,)), ("modern/gqa", ())):
        for seed in seeds:
            (write_run(tmp_path, name, seed) / "metrics.csv").write_text(HEAD + LOOKS)
    write_run(tmp_path, "modern/gqa")
    svg = drawn(tmp_path)
    assert svg is not None
    assert {"base", "modern/rope"} <= set(texts(svg))
    assert "modern/gqa" not in texts(svg)
    assert lines(svg) == 2 + (1 + 2)


def test_without_a_curve_there_is_no_picture(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    assert drawn(tmp_path) is None


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    (write_run(tmp_path, "table3/base") / "metrics.csv").write_text(HEAD + LOOKS)
    assert drawn(tmp_path) == drawn(tmp_path) is not None
