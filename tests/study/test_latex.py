"""The report as LaTeX: the paper's layout, and text that stays text."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.study.folders import result, write_run
from tests.study.kept import write_kept
from xformer.study.paper import paper_rows
from xformer.study.report import build_report
from xformer.study.text import latex, plain

HOSTILE = r"<script> & _%$#{}~^\ \input{/etc/passwd} \end{tabular} ``x'' -- " + '"q"\nΩ 中 †'
_NEEDS = r"\usepackage[T1]{fontenc}" + "\n" + r"\usepackage{booktabs,textcomp,graphicx}" + "\n"


def tex(root: Path) -> str:
    from xformer.study.latex import report_latex

    report = build_report(root)
    return report_latex(report.tables, report.findings)


def rows(text: str) -> list[list[str]]:
    """The cells of every line of a table's body; a cell over several columns is repeated."""
    found = []
    for line in text.splitlines():
        if line.endswith(r" \\") and not line.startswith(" & & "):
            cells: list[str] = []
            for cell in re.split(r"(?<!\\)&", line.removesuffix(r" \\")):
                over = re.fullmatch(r"\\multicolumn\{(\d+)\}\{c\}\{(.*)\}", cell.strip())
                cells += [over[2]] * int(over[1]) if over else [cell.strip()]
            found.append(cells)
    return found


def check(text: str) -> None:
    """Braces and environments nest, every line has its table's columns, and nothing special is loose."""
    depth = 0
    for character in re.sub(r"(?m)(?<!\\)%.*$|\\[{}\\%]", "", text):
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{([^}]*)\}", re.sub(r"(?m)^%.*$", "", text)):
        if what == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    tables = re.findall(r"\\begin\{tabular\}\{([lcr]+)\}(.*?)\\end\{tabular\}", text, flags=re.S)
    assert tables
    for columns, body in tables:
        assert {len(cells) for cells in rows(body)} == {len(columns)}
    assert text.isascii() or all("\u00c0" <= each <= "\u017e" for each in text if not each.isascii())


def test_rows_stand_in_the_papers_order_beside_its_figures(tmp_path: Path) -> None:
    for paper in paper_rows():
        write_run(tmp_path, paper.name, outcome=result(2.5 * paper.dev_bleu, paper.dev_ppl / 2))
    text = tex(tmp_path)
    check(text)
    body = rows(text)[1:]  # below the headings
    assert [cells[1].replace("\\", "") for cells in body] == [paper.experiment for paper in paper_rows()]
    assert [cells[-3:-1] for cells in body] == [
        [f"{paper.dev_ppl:.2f}", f"{paper.dev_bleu:.1f}"] for paper in paper_rows()
    ]
    (narrow,) = (cells for cells in body if cells[1] == r"B\_dk16")
    assert narrow == [
        *("B", r"B\_dk16", "", "", "", "", "2", "", "", "", ""),
        *("2.58", "62.8", "61.8", "0.48", "5.16", "25.1", "58"),
    ]
    base = body[0]
    assert base[2:11] == ["3", "64", "256", "8", "8", "8", "0.1", "0.1", "600"]
    assert text.count(r"\midrule") == 1 + 6  # below the headings, and between base, A, B, C, D, E and big


def test_states_stand_where_figures_would(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1", state="diverged", reason="loss is nan")
    text = tex(tmp_path)
    check(text)
    states = {cells[1]: cells[11] for cells in rows(text)}
    assert states[r"A\_h1"] == r"\emph{diverged}"
    assert states["big"] == r"\emph{missing}"


def test_differences_have_intervals_and_marks(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_kept(tmp_path, "table3/base", seed)
    write_kept(tmp_path, "modern/rope", 1, lost=0.1)
    text = tex(tmp_path)
    check(text)
    (rope,) = (cells for cells in rows(text) if cells[0] == "modern/rope")
    assert re.fullmatch(r"\+[\d.]+ \$\\pm\$ [\d.]+\\textdagger\{\}", rope[5])
    assert "one seed, of the row or of the base" in text


def test_seeds_deviations_and_runs_that_diverged_are_told(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_run(tmp_path, seed=seed, outcome=result(70.0 + seed / 100))
        write_run(tmp_path, "table3/A_h1", seed, state="finished" if seed == 3 else "diverged")
    text = tex(tmp_path)
    assert r"A\_h1 (2 of 3 diverged)" in text
    assert r"means of 1 to 3 seeds, $\pm$ their standard deviation" in text
    assert r"69.0 $\pm$ 0.01" in text


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base", overrides=(f"x={HOSTILE}",))
    write_run(tmp_path, "custom", overrides=(f"y={HOSTILE}",))
    text = tex(tmp_path)
    check(text)
    assert r"\textbackslash{}input\{/etc/passwd\}" in text
    assert r"\input{" not in text
    assert "[U+4E2D]" in text


@given(st.text(st.sampled_from("&%$#_{}~^\\<>|\"'`-–†Δ aé中\n"), max_size=20))
def test_escaped_text_has_no_special_character_left(text: str) -> None:
    escaped = latex(text)
    bare = re.sub(r"\\[&%$#_{}]|\\[a-z]+\{\}|\$\\?[A-Za-z-]+\$|\{-\}", "", escaped)
    assert not re.search(r"[&%$#_{}~^\\<>|\"'`]", bare)
    letters = [each for each in plain(text) if each.isalpha() and each.isascii()]
    assert [
        each for each in re.sub(r"\\[$]|\\[a-z]+|\$.*?\$|\[U\+.*?\]", "", escaped) if each == "a"
    ] == letters


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs a LaTeX")
def test_the_tables_compile(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", "table3/base", overrides=(f"x={HOSTILE}",))
    write_run(tmp_path / "runs", "custom")
    document = rf"\documentclass{{article}}{_NEEDS}\begin{{document}}{tex(tmp_path / 'runs')}\end{{document}}"
    (tmp_path / "all.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-2000:]
