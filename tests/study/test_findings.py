"""What the statistics say about a table, and how reports write it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from tests.study.folders import result, write_run
from tests.study.kept import write_kept
from tests.study.planted import plant
from tests.study.test_text import rendered
from xformer.study.claims import built_in_claims
from xformer.study.collect import collect
from xformer.study.findings import Findings, find
from xformer.study.paper import paper_rows
from xformer.study.picture import report_svg
from xformer.study.report import build_report, write_report
from xformer.study.table import build_tables


def found(root: Path) -> Findings:
    (table,), _ = build_tables(collect(root))
    return find(table, built_in_claims())


def printed(root: Path, width: int, out: Path | None = None) -> str:
    console = Console(file=io.StringIO(), width=width)
    write_report(root, out, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planted")
    plant(root)
    return root


def test_rank_agreement_is_per_metric_and_with_an_interval(tmp_path: Path) -> None:
    for paper in paper_rows():
        write_run(tmp_path, paper.name, outcome=result(2.5 * paper.dev_bleu, 10 - paper.dev_ppl))
    notes = found(tmp_path).notes
    assert "Ranking by dev BLEU against the paper's: Spearman 1.00, 95 % interval 1.00 to" in " ".join(notes)
    assert "Ranking by dev PPL against the paper's: Spearman −1.00, 95 % interval −1.00" in " ".join(notes)
    assert "No row has two seeds, so nothing can be concluded about seeds." in notes


def test_rows_without_their_base_are_told_what_is_missing(tmp_path: Path) -> None:
    for experiment in ("modern/rope", "modern/alibi"):
        for seed in (1, 2, 3):
            write_run(tmp_path, experiment, seed, outcome=result(30.0 + seed))
    note = "No differences: they would be from table3/base without overrides"
    assert note in " ".join(found(tmp_path).notes)
    write_run(tmp_path, "table3/base", outcome=result(30.0))
    assert note not in " ".join(found(tmp_path).notes)


def test_one_row_has_nothing_to_be_said_about(tmp_path: Path) -> None:
    write_run(tmp_path)
    assert found(tmp_path).notes == ()
    text = printed(tmp_path, 100)
    assert "Statistics" not in text
    assert "Claims" not in text


def test_partly_diverged_rows_are_pointed_out(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "modern/rope", 1)
    write_run(tmp_path, "modern/rope", 2, state="diverged")
    note = "modern/rope: 1 of 2 diverged; figures are of the others, and flatter it."
    assert note in found(tmp_path).notes


def test_two_rows_that_are_both_the_base_are_named_as_such(tmp_path: Path) -> None:
    for row_hash in ("aaaaaaaa", "bbbbbbbb"):
        for seed in (1, 2):
            write_run(tmp_path, seed=seed, row_hash=row_hash, outcome=result(60.0 + seed))
    (note,) = (note for note in found(tmp_path).notes if note.startswith("No differences"))
    assert "different rows that all are table3/base without overrides" in note
    report = build_report(tmp_path)
    assert report_svg(report.tables, report.findings) is None


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200, 300])
def test_no_line_of_the_terminal_is_too_wide(planted: Path, width: int) -> None:
    assert max(cell_len(line.rstrip()) for line in printed(planted, width).splitlines()[:-1]) <= width


def test_the_terminal_shows_differences_claims_and_what_was_not_run(planted: Path) -> None:
    text = printed(planted, 150)
    (line,) = (line for line in text.splitlines() if line.startswith("A_h1 "))
    assert "−1.95 ± 0.18" in line
    assert "<0.001" in line
    assert "supported  A single head is worse" in text
    assert "contradicted  Dropout is very helpful" in text
    assert "not run: deep_postnorm, gated_feedforward" in text


def test_a_row_with_one_seed_is_marked_and_the_mark_explained(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_run(tmp_path, "table3/base", seed, outcome=result(60 + seed / 10))
    write_run(tmp_path, "table3/A_h1", outcome=result(50.0))
    text = printed(tmp_path, 150)
    (line,) = (line for line in text.splitlines() if line.startswith("A_h1 "))
    assert "−10.20 ± 0.50†" in line
    assert "† one seed, of the row or of the base" in text


def test_a_table_of_single_seeds_has_no_columns_of_differences(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1")
    text = printed(tmp_path, 300)
    assert "difference from base" not in text
    assert "nothing can be concluded about seeds" in text


def test_markdown_shows_both_parts_and_every_claim(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_kept(tmp_path / "runs", "table3/base", seed)
        write_kept(tmp_path / "runs", "modern/rope", seed, lost=0.1)
    printed(tmp_path / "runs", 100, tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text()
    cells = [cell.strip() for cell in rendered(text).cells]
    for title in ("Δ test BLEU", "seeds", "sentences"):
        assert f"<br>{title} |" in text
    difference = build_report(tmp_path / "runs").findings[0].comparisons[0].differences["modern/rope"]
    error = difference.contrast.uncertainty
    assert f"± {error.seeds_half():.2f}" in cells
    assert f"± {error.sentences_half():.2f}" in cells
    assert text.count("| not run | ") == len(built_in_claims())


def test_the_csv_holds_the_difference_unrounded(planted: Path, tmp_path: Path) -> None:
    printed(planted, 100, tmp_path)
    lines = {line["experiment"]: line for line in csv.DictReader((tmp_path / "report.csv").open())}
    difference = build_report(planted).findings[0].comparisons[0].differences["table3/A_h1"]
    row = lines["table3/A_h1"]
    assert float(row["test_bleu_difference"]) == difference.contrast.value
    assert float(row["test_bleu_difference_low"]) == difference.contrast.interval[0]
    assert float(row["test_bleu_p_holm"]) == difference.p_holm
    assert float(row["test_bleu_error_seeds"]) == difference.contrast.uncertainty.seeds
    assert row["test_bleu_error_sentences"] == "NA"
    assert row["test_bleu_degrees_of_freedom"] == "38"
    assert lines["table3/base"]["test_bleu_difference"] == "NA"
    assert lines["table3/big"]["test_bleu_p"] == "NA"


def test_claims_of_ones_own_take_the_place_of_the_built_in_ones(planted: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    test = "{kind: superiority, metric: test_bleu, rows: [table3/base, table3/A_h1]}"
    own.write_text(f"- {{name: mine, says: '<b>Mine</b> | holds', source: me, tests: [{test}]}}\n")
    console = Console(file=io.StringIO(), width=100)
    report = write_report(planted, tmp_path / "out", console, claims=own)
    assert [verdict.claim.name for verdict in report.findings[0].verdicts] == ["mine"]
    page = rendered((tmp_path / "out" / "report.md").read_text())
    assert "<b>Mine</b> | holds" in [cell.strip() for cell in page.cells]
    assert "b" not in page.tags
