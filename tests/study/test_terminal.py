"""The table in the terminal, at every width."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from tests.study.folders import result, write_failed, write_run
from xformer.study.collect import collect
from xformer.study.findings import find
from xformer.study.paper import paper_rows
from xformer.study.table import build_tables
from xformer.study.terminal import table_view, unplaced_view


def shown(root: Path, width: int) -> list[str]:
    (table,), _ = build_tables(collect(root))
    console = Console(file=io.StringIO(), width=width)
    console.print(table_view(table, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def cells(lines: list[str], label: str) -> list[list[str]]:
    """The words of each group of the row of that label."""
    for line in lines:
        groups = [group.split("  ") for group in line.split("│")]
        if any(label in (word.strip() for word in group) for group in groups[:2]):
            return [[word.strip() for word in group if word.strip()] for group in groups]
    raise AssertionError(f"no row {label}")


@pytest.fixture
def table3(tmp_path: Path) -> Path:
    for paper in paper_rows():
        write_run(tmp_path, paper.name, outcome=result(2.5 * paper.dev_bleu, paper.dev_ppl / 2))
    return tmp_path


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200, 300])
def test_no_line_is_wider_than_the_terminal(table3: Path, width: int) -> None:
    for seed in (2, 3):
        write_run(table3, "table3/base", seed=seed, outcome=result(70 + seed))
    write_run(table3, overrides=("model.dropout=0.2", "trainer.precision=bf16"))
    assert max(cell_len(line) for line in shown(table3, width)) <= width


@pytest.mark.parametrize("width", [80, 120, 200])
def test_measured_and_printed_figures_stand_in_columns_of_their_own_at_any_width(
    table3: Path, width: int
) -> None:
    lines = shown(table3, width)
    base = cells(lines, "A_h1")
    assert ["2.65", "62.2", "61.2"] in base
    assert ["5.29", "24.9", "–"] in base
    assert base[-1] == ["finished"]
    assert any("paper (scale=paper, WMT14)" in line and "measured (scale=tiny)" in line for line in lines)


def test_no_figure_is_ever_broken_over_two_lines(table3: Path) -> None:
    for width in range(76, 220, 3):
        base = cells(shown(table3, width), "A_h1")
        assert ["2.65", "62.2", "61.2"] in base, width
        assert any(group[:2] == ["5.29", "24.9"] for group in base), width


def test_a_narrow_terminal_shows_the_essential_and_says_what_it_leaves_out(table3: Path) -> None:
    text = "\n".join(shown(table3, 80))
    assert "no room here for row, N, d_model" in text
    assert "FLOPs/token" in text.partition("no room here for")[2]


def test_the_middle_width_adds_the_sizes_and_a_wide_one_shows_all(table3: Path) -> None:
    middle = cells(shown(table3, 120), "B_dk16")
    assert ["3", "64", "256", "8", "2", "8"] in middle
    wide = shown(table3, 200)
    assert not any("no room here" in line for line in wide)
    big = cells(wide, "big")
    assert ["3", "128", "512", "16", "8", "8", "0.3", "0.1", "1,800"] in big
    assert ["483,072", "483,072"] in big
    assert ["1.26 M", "12,346", "512 MiB"] in big


def test_every_row_has_its_own_figures(table3: Path) -> None:
    lines = shown(table3, 80)
    for paper in paper_rows():
        assert [f"{paper.dev_ppl:.2f}", f"{paper.dev_bleu:.1f}"] == cells(lines, paper.experiment)[2][:2]


LONG = ("model.dropout=0.2", "optim.warmup_updates=12000", "model.feedforward.kind=swiglu")


@pytest.mark.parametrize("width", [80, 100])
def test_long_overrides_stand_below_the_table_where_they_have_no_room_in_it(table3: Path, width: int) -> None:
    write_run(table3, overrides=LONG)
    write_run(table3, "modern/rope", overrides=LONG[:1])
    lines = shown(table3, width)
    assert cells(lines, "base (1)")[1] == ["3.00", "70.0", "69.0"]
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("(1) "))
    words = " ".join(" ".join(lines[at : at + 2]).split())
    assert words.startswith(f"(1) {' '.join(LONG)}")
    # Each row takes one line, so that columns can be read down.
    blank = [line for line in lines if "│" in line and not line.split("│")[0].strip()]
    assert all("measured" in line or "paper" in line for line in blank)


def test_long_overrides_stay_in_the_table_where_they_have_room(table3: Path) -> None:
    write_run(table3, overrides=LONG)
    lines = shown(table3, 300)
    assert any(f"base {' '.join(LONG)}" in line for line in lines)
    assert not any("(1)" in line for line in lines)


def test_a_narrow_terminal_shows_the_difference_from_the_base_rather_than_a_second_score(
    table3: Path,
) -> None:
    for paper in paper_rows():
        for seed in (2, 3):
            write_run(
                table3, paper.name, seed, outcome=result(2.5 * paper.dev_bleu + seed / 9, paper.dev_ppl)
            )
    (table,), _ = build_tables(collect(table3))
    for width, dev in ((80, False), (140, True)):
        console = Console(file=io.StringIO(), width=width)
        console.print(table_view(table, width, find(table, ())))
        assert isinstance(console.file, io.StringIO)
        lines = console.file.getvalue().splitlines()
        assert max(cell_len(line) for line in lines) <= width
        (heading,) = (line for line in lines if line.lstrip("row ").startswith("name"))
        assert "Δ test BLEU" in heading
        assert ("dev PPL" in heading) == dev
        (row,) = (line for line in lines if line.startswith(("A_h1 ", "A    │ A_h1 ")))
        assert "−2." in row


def test_several_seeds_show_mean_and_spread(tmp_path: Path) -> None:
    for seed, bleu in ((1, 70.0), (2, 71.0), (3, 75.0)):
        write_run(tmp_path, seed=seed, outcome=result(bleu))
    assert ["3.00 ± 0.00", "72.0 ± 2.6", "71.0 ± 2.6"] in cells(shown(tmp_path, 120), "base")


def test_setting_and_scorer_are_printed_above(tmp_path: Path) -> None:
    write_run(tmp_path)
    text = "\n".join(shown(tmp_path, 120)).partition("Table 3")[0]
    for word in ("tiny (width 1/8", "grammar", "vocabulary 640", "beam 4, alpha 0.6", "tok:13a"):
        assert word in text


def test_rows_that_did_not_finish_are_never_blank_or_zero(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1", state="diverged", reason="loss is nan at update 312")
    write_run(tmp_path, "table3/A_h4", state="failed", reason="out of memory")
    lines = shown(tmp_path, 80)
    for label, state in (("A_h1", "diverged"), ("A_h4", "failed"), ("A_h16", "missing")):
        row = cells(lines, label)
        assert row[1] == ["–", "–", "–"]
        assert row[-1] == [state]
    text = "\n".join(lines)
    assert "A_h1 seed 1: diverged: loss is nan at update 312" in text
    assert "A_h4 seed 1: failed: out of memory" in text


def test_markup_in_an_override_is_text(tmp_path: Path) -> None:
    write_run(tmp_path, "custom", overrides=("data.dir='[red]x[/red]'", "tokenizer.kind='[bold]\x1b[31m'"))
    text = "\n".join(shown(tmp_path, 300))
    assert "[bold]" in text
    assert "\x1b" not in text


def test_other_experiments_have_no_columns_of_the_paper(tmp_path: Path) -> None:
    write_run(tmp_path, "modern/rope")
    text = "\n".join(shown(tmp_path, 200))
    assert "Other experiments" in text
    assert "paper (scale=paper" not in text


def test_rows_that_could_not_start_are_listed_with_their_reason(tmp_path: Path) -> None:
    write_failed(tmp_path, "table3/big", reason="train.de: no such file")
    _, unplaced = build_tables(collect(tmp_path))
    console = Console(file=io.StringIO(), width=80)
    console.print(unplaced_view(unplaced))
    assert isinstance(console.file, io.StringIO)
    assert "table3/big: train.de: no such file" in console.file.getvalue()
