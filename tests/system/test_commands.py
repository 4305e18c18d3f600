"""One command from nothing to a score, and what the run folder is good for afterwards."""

from __future__ import annotations

import csv
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.system.commands import SMALL, Command, run_in
from xformer.config import schema
from xformer.config.validate import validate
from xformer.data.corpus import read_lines
from xformer.scoring.corpus import bleu_of
from xformer.scoring.counts import read_counts


@pytest.fixture
def copied(run: Path) -> Path:
    """A finished run that a test may change, by its whole path."""
    return run.absolute()


def test_the_run_folder_holds_what_the_contract_says(trained: Path) -> None:
    assert {path.name for path in trained.iterdir() if not path.name.startswith(".")} >= {
        "config.yaml", "status.json", "log.txt", "metrics.csv", "result.json", "hypotheses", "checkpoints",
    }  # fmt: skip
    result = json.loads((trained / "result.json").read_text())
    assert set(result) >= {
        "run_id", "experiment", "seed", "scale", "data", "tokenizer", "commit", "versions", "device",
        "parameters", "parameters_closed_form", "flops_per_token", "updates", "epochs", "padding_share",
        "train_tokens_per_second", "peak_memory_bytes", "wall_seconds", "dev", "test",
    }  # fmt: skip
    for split, sentences in (("dev", 12), ("test", 15)):
        assert set(result[split]) >= {"perplexity", "bleu", "chrf", "ter", "signature", "sentences"}
        assert result[split]["sentences"] == sentences
    assert result["parameters"] == result["parameters_closed_form"]
    assert json.loads((trained / "status.json").read_text())["state"] == "finished"
    with (trained / "metrics.csv").open() as file:
        assert [int(row["update"]) for row in csv.DictReader(file)] == [2, 4, 6, 8, 10, 12]


def test_no_name_in_a_run_folder_needs_quoting(trained: Path) -> None:
    for path in trained.parents[2].rglob("*"):
        assert not set("=, '\"") & set(path.name), path


def test_every_checkpoint_is_loaded_without_running_code(trained: Path) -> None:
    names = [path.name for path in sorted((trained / "checkpoints").iterdir())]
    assert names == ["update-00000004.ckpt", "update-00000008.ckpt", "update-00000012.ckpt"]
    for path in (trained / "checkpoints").iterdir():
        assert torch.load(path, weights_only=True)


def test_the_reported_score_is_what_sacrebleu_prints_for_the_stored_files(trained: Path) -> None:
    (reference,) = trained.parents[2].glob(".cache/corpora/*/test.qno")
    hypotheses = trained / "hypotheses" / "test.txt"
    printed = subprocess.run(
        [sys.executable, "-m", "sacrebleu", str(reference), "-i", str(hypotheses), "-w", "8", "-b"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    bleu = json.loads((trained / "result.json").read_text())["test"]["bleu"]
    assert float(printed.stdout) == pytest.approx(bleu, abs=1e-8)


def test_kept_counts_give_the_reported_score_to_the_last_digit(trained: Path) -> None:
    result = json.loads((trained / "result.json").read_text())
    for split, name in (("valid", "dev"), ("test", "test")):
        counts = read_counts(trained / "hypotheses" / f"{split}.bleu.csv")
        assert bleu_of(counts.sum(axis=0)) == result[name]["bleu"]


def test_the_same_command_again_trains_nothing(copied: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in copied.rglob("*") if path.is_file()}
    ended = run_in(copied.parents[3])("train", "experiments=table3/base", *SMALL)
    assert ended.returncode == 0
    assert "skipped" in ended.stderr
    after = {path: path.stat().st_mtime_ns for path in copied.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} <= {copied / ".lock"}


def without_later_keys(settings: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The values as they were written before the schema had the keys that have defaults there."""
    kept = {}
    for field in dataclasses.fields(settings):
        if field.default is dataclasses.MISSING:
            value = getattr(settings, field.name)
            nested = dataclasses.is_dataclass(value)
            kept[field.name] = without_later_keys(value, values[field.name]) if nested else values[field.name]
    return kept


def test_a_run_from_before_a_key_was_added_is_found_and_read(copied: Path) -> None:
    path = copied / "config.yaml"
    values = yaml.safe_load(path.read_text())
    older = without_later_keys(validate(values), values)
    assert "num_nodes" in values["trainer"]
    assert "num_nodes" not in older["trainer"]
    path.write_text(yaml.safe_dump(older))
    xformer = run_in(copied.parents[3])
    ended = xformer("train", "experiments=table3/base", *SMALL)
    assert ended.returncode == 0, ended.stderr
    assert "skipped" in ended.stderr
    assert xformer("evaluate", str(copied)).returncode == 0
    assert "finished" in xformer("status", "runs", COLUMNS="200").stdout


def test_other_decoding_settings_score_the_stored_weights_beside_the_result(copied: Path) -> None:
    result = (copied / "result.json").read_text()
    ended = run_in(copied.parents[3])("train", "experiments=table3/base", *SMALL, "decode.beam=1")
    assert ended.returncode == 0, ended.stderr
    assert (copied / "result.json").read_text() == result
    (path,) = (copied / "evaluations").glob("*.json")
    scores = json.loads(path.read_text())
    assert scores["beam"] == 1
    assert set(scores["splits"]) == {"valid", "test"}
    assert scores.keys() > set(schema.DECODING)
    assert len(list((copied / "checkpoints").iterdir())) == 3
    written = path.stat().st_mtime_ns
    again = run_in(copied.parents[3])("train", "experiments=table3/base", *SMALL, "decode.beam=1")
    assert "skipped" in again.stderr
    assert path.stat().st_mtime_ns == written


def test_evaluating_as_the_run_did_gives_its_scores_to_the_last_digit(copied: Path) -> None:
    ended = run_in(copied.parents[3])("evaluate", str(copied))
    assert ended.returncode == 0, ended.stderr
    (path,) = (copied / "evaluations").glob("*.json")
    again, first = (json.loads(file.read_text()) for file in (path, copied / "result.json"))
    for metric in ("bleu", "chrf", "ter", "perplexity"):
        assert again["splits"]["test"][metric] == first["test"][metric]


def test_evaluating_an_average_and_another_split(copied: Path) -> None:
    run = run_in(copied.parents[3])
    ended = run("evaluate", str(copied), "--average", "2", "--split", "long", "--beam", "2")
    assert ended.returncode == 0, ended.stderr
    (path,) = (copied / "evaluations").glob("*.json")
    scores = json.loads(path.read_text())
    assert scores["averaged_checkpoints"] == 2
    assert scores["splits"]["long"]["sentences"] == 5
    assert len(read_counts(path.with_suffix(".long.bleu.csv"))) == 5
    ended = run("evaluate", str(copied), "--average", "9")
    assert ended.returncode == 2
    assert "there are 3" in ended.stderr
    ended = run("evaluate", str(copied), "--split", "nonsense")
    assert ended.returncode == 2
    assert "nonsense" in ended.stderr


def test_translation_gives_one_line_for_each_line_whatever_is_in_it(trained: Path) -> None:
    run = run_in(trained.parents[3])
    lines = ["", "x", "a\u2028b\x85c\x0bd\x0ce\x1cf", "  ", "</s> <pad>", "\U0001f600" * 5, "last"]
    ended = run("translate", str(trained), stdin="".join(f"{line}\n" for line in lines))
    assert ended.returncode == 0, ended.stderr
    out = ended.stdout.split("\n")
    assert len(out) == len(lines) + 1
    assert out[-1] == out[0] == out[3] == ""
    assert len(ended.stdout.splitlines()) == len(lines)


def test_translating_a_file_gives_the_stored_hypotheses(trained: Path, tmp_path: Path) -> None:
    (source,) = trained.parents[2].glob(".cache/corpora/*/test.qma")
    ended = run_in(tmp_path)("translate", str(trained), "--input", str(source), "--output", "out.txt")
    assert ended.returncode == 0, ended.stderr
    assert read_lines(tmp_path / "out.txt") == read_lines(trained / "hypotheses" / "test.txt")


def test_another_tokenizer_is_refused(copied: Path) -> None:
    other = json.loads((copied / "tokenizer.json").read_text())
    (copied / "tokenizer.json").write_text(json.dumps(other, indent=1) + "\n")  # the same, written otherwise
    assert run_in(copied.parents[3])("translate", str(copied), stdin="x\n").returncode == 0
    merges = other["model"]["merges"]
    merges[0], merges[1] = merges[1], merges[0]
    (copied / "tokenizer.json").write_text(json.dumps(other))
    ended = run_in(copied.parents[3])("translate", str(copied), stdin="x\n")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_status_and_report_show_the_run(trained: Path) -> None:
    run = run_in(trained.parents[3])
    assert "finished" in run("status", "runs", COLUMNS="200").stdout
    ended = run("report", "runs", "--out", "report", COLUMNS="200")
    assert ended.returncode == 0, ended.stderr
    assert "25.8" in (trained.parents[3] / "report" / "report.md").read_text()


def test_the_configuration_can_be_printed(xformer: Command) -> None:
    assert "d_model: 512" in xformer("train", "--cfg", "job", "scale=paper").stdout
