"""The report as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.study.folders import result, write_failed, write_run
from tests.study.planted import write_evaluation
from xformer.study.collect import collect
from xformer.study.sheet import report_csv, runs_csv
from xformer.study.table import build_tables


def lines(root: Path) -> dict[str, dict[str, str]]:
    text = report_csv(*build_tables(collect(root)))
    return {line["experiment"] + line["overrides"]: line for line in csv.DictReader(io.StringIO(text))}


def test_figures_are_unrounded_and_the_papers_have_names_of_their_own(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/big", seed=1, outcome=result(70.123456))
    write_run(tmp_path, "table3/big", seed=2, outcome=result(71.123456))
    big = lines(tmp_path)["table3/bigNA"]
    assert float(big["dev_bleu"]) == (70.123456 + 71.123456) / 2
    assert round(float(big["dev_bleu_sd"]), 6) == round(0.5**0.5, 6)
    assert (big["paper_dev_bleu"], big["paper_dev_ppl"], big["paper_params_millions"]) == (
        "26.4",
        "4.33",
        "213",
    )
    assert (big["layers"], big["d_model"], big["updates"], big["seeds"]) == ("3", "128", "1800", "2")


def test_no_cell_is_empty_and_nothing_that_is_missing_is_zero(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base", state="failed", reason="killed")
    write_run(tmp_path, "modern/rope", overrides=("model.dropout=0.2",))
    write_failed(tmp_path, "modern/alibi", reason="no such file")
    for line in lines(tmp_path).values():
        assert None not in line.values()
        assert "" not in line.values()
        if line["state"] != "finished":
            assert line["dev_bleu"] == line["test_bleu"] == line["parameters"] == "NA"
    assert lines(tmp_path)["table3/baseNA"]["reason"] == "table3/base seed 1: killed"


def test_rows_that_could_not_start_have_a_line_too(tmp_path: Path) -> None:
    write_failed(tmp_path, "modern/alibi", reason='no such file, "x"')
    found = lines(tmp_path)["modern/alibiNA"]
    assert (found["state"], found["reason"]) == ("failed", 'no such file, "x"')


def test_each_run_has_a_line_with_all_its_scores_and_the_command_that_repeats_it(tmp_path: Path) -> None:
    outcome = result(70.0, commit="c" * 40, run_id="base-1")
    folder = write_run(tmp_path, "table3/base", seed=3, outcome=outcome)
    write_evaluation(folder, "long", 41.5)
    write_evaluation(folder, "test", 71.25, average=5)
    write_run(tmp_path, "table3/big", state="diverged", reason="loss is nan")
    write_failed(tmp_path, "modern/alibi", reason="no such file")
    text = runs_csv(collect(tmp_path))
    found = {line["experiment"]: line for line in csv.DictReader(io.StringIO(text))}
    base = found["table3/base"]
    assert (base["run"], base["commit"], base["run_id"]) == (folder.name, "c" * 40, "base-1")
    assert (base["test_bleu"], base["long_bleu"], base["test_bleu_average5"]) == ("69.0", "41.5", "71.25")
    assert base["command"].startswith("xformer train experiments=table3/base")
    assert "seed=3" in base["command"]
    assert (found["table3/big"]["state"], found["table3/big"]["test_bleu"]) == ("diverged", "NA")
    assert (found["modern/alibi"]["run"], found["modern/alibi"]["reason"]) == ("NA", "no such file")
