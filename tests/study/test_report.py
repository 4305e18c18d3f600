"""The whole way from a folder to files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.study.folders import result, write_failed, write_run
from tests.study.test_curves import HEAD
from tests.study.test_curves_picture import LOOKS
from xformer.cli import main
from xformer.errors import UserError
from xformer.study.report import Report, write_report

FILES = ("report.html", "report.md", "report.tex", "report.csv", "report.svg", "curves.svg")


def report(root: Path, out: Path | None = None) -> tuple[Report, str]:
    console = Console(file=io.StringIO(), width=160)
    made = write_report(root, out, console)
    assert isinstance(console.file, io.StringIO)
    return made, console.file.getvalue()


def test_a_report_is_printed_and_written(tmp_path: Path) -> None:
    write_run(tmp_path / "runs")
    made, text = report(tmp_path / "runs", tmp_path / "out" / "new")
    assert len(made.tables) == 1
    assert "Table 3" in text
    assert {path.name for path in (tmp_path / "out" / "new").iterdir()} == {
        "report.html",
        "report.md",
        "report.tex",
        "report.csv",
        "runs.csv",
    }


def test_without_a_base_as_it_stands_the_report_says_why_nothing_is_set_against_it(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    for name in ("table3/base", "modern/rope"):
        write_run(runs / "plain", name)
        write_run(runs / "other", name, overrides=["model.dropout=0.2"])
    _, text = report(runs / "plain", out)
    assert "No differences" not in text
    assert (out / "report.svg").is_file()
    _, text = report(runs / "other", out)
    assert "they would be from table3/base without overrides" in text
    assert "No report.svg" in text
    assert not (out / "report.svg").exists(), "the picture of other runs beside the page of these"


def test_the_report_is_against_the_base_that_is_asked_for(tmp_path: Path) -> None:
    for experiment, bleu in (("modern/rope", 61.0), ("modern/llama", 62.0)):
        for seed in (1, 2):
            scored = result(70.0, 3.0, test={"bleu": bleu + seed / 10, "perplexity": 3.0})
            write_run(tmp_path / "runs", experiment, seed, outcome=scored)
    console = Console(file=io.StringIO(), width=120)
    report = write_report(tmp_path / "runs", tmp_path / "out", console, base="modern/llama")
    assert report.findings[0].comparisons[0].differences.keys() == {"modern/rope"}
    assert "Differences are from modern/llama, ±" in (tmp_path / "out" / "report.md").read_text()
    with pytest.raises(UserError, match=r"--base modern/lama: no such row .* modern/llama, modern/rope"):
        write_report(tmp_path / "runs", console=console, base="modern/lama")


def test_without_a_place_nothing_is_written(tmp_path: Path) -> None:
    write_run(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    report(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("table3/base", "modern/rope", "table3/A_h1"):
        (write_run(tmp_path / "runs", name) / "metrics.csv").write_text(HEAD + LOOKS)
    for out in ("one", "two"):
        report(tmp_path / "runs", tmp_path / out)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_perplexity_beyond_all_numbers_leaves_its_cells_empty(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_run(tmp_path / "runs", "table3/base", seed)
        write_run(tmp_path / "runs", "table3/A_h1", seed, outcome=result(60.0 + seed, None))
    made, text = report(tmp_path / "runs", tmp_path / "out")
    assert {run.state for run in made.runs} == {"finished"}
    assert "60.5" in text  # the mean test BLEU
    with (tmp_path / "out" / "report.csv").open() as file:
        lines = {line["experiment"]: line for line in csv.DictReader(file)}
    assert lines["table3/A_h1"]["dev_perplexity"] == lines["table3/A_h1"]["dev_perplexity_p"] == "NA"
    assert lines["table3/base"]["dev_perplexity"] == "3.0"


def test_one_infinite_perplexity_of_three_is_not_left_out_of_the_mean(tmp_path: Path) -> None:
    for seed, perplexity in ((1, None), (2, None), (3, 2.0)):
        write_run(tmp_path / "runs", "table3/base", seed, outcome=result(70.0 + seed, 3.0 + seed / 10))
        write_run(tmp_path / "runs", "modern/rope", seed, outcome=result(60.0 + seed, perplexity))
    made, _ = report(tmp_path / "runs", tmp_path / "out")
    (findings,) = made.findings
    perplexity_of = {each.metric.name: each.differences for each in findings.comparisons}
    assert "modern/rope" not in perplexity_of["dev_perplexity"]
    assert "modern/rope" in perplexity_of["test_bleu"]
    with (tmp_path / "out" / "report.csv").open() as file:
        lines = {line["experiment"]: line for line in csv.DictReader(file)}
    assert lines["modern/rope"]["dev_perplexity"] == "NA"


def test_one_seed_a_row_concludes_nothing_about_noise(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/big")
    (line,) = report(tmp_path)[0].verdict
    assert line == (
        "One seed a row: differences smaller than the spread between seeds cannot be told from noise."
    )


def test_repeated_seeds_explain_the_spread(tmp_path: Path) -> None:
    write_run(tmp_path, seed=1)
    write_run(tmp_path, seed=2)
    assert report(tmp_path)[0].verdict == ("± is the standard deviation over the seeds of a row.",)
    write_run(tmp_path, "table3/big", seed=1)
    assert "Rows with one seed" in report(tmp_path)[0].verdict[1]


def test_nothing_finished_is_nothing_to_compare(tmp_path: Path) -> None:
    write_failed(tmp_path, "table3/base", reason="no such file")
    made, text = report(tmp_path)
    assert made.verdict == ("No row is finished, so there is nothing to compare.",)
    assert "table3/base: no such file" in text


def test_an_empty_folder_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no runs"):
        report(tmp_path)


def test_a_place_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    write_run(tmp_path / "runs")
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UserError, match="out: cannot be written: "):
        report(tmp_path / "runs", tmp_path / "out")


def test_a_faulty_file_of_claims_ends_the_command_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "runs")
    claims = tmp_path / "own.yaml"
    claims.write_text("- {name: mine, says: x, source: y, tests: [], note: z}\n")
    arguments = ["report", str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--claims", str(claims)]
    assert main(arguments) == 2
    assert f"xformer: {claims}: claim mine: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
