"""A record stands for a run folder: in a report, and in a sweep that is told of it."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.system.commands import SMALL, Command
from xformer.errors import UserError
from xformer.runs.record import done, record, unpacked
from xformer.runs.search import objective
from xformer.study.collect import collect
from xformer.study.report import build_report


@pytest.fixture
def records(trained: Path, tmp_path: Path) -> Path:
    """A folder with the record of one run."""
    assert len(record(trained.parents[2], tmp_path / "records")) == 1
    return tmp_path / "records"


def change(records: Path, **changed: Any) -> None:
    (path,) = records.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    done.cache_clear()


def test_a_record_is_read_as_the_folder_it_was_made_of(trained: Path, records: Path) -> None:
    (before,), (after,) = collect(trained.parents[2]), collect(records)
    assert after.result == before.result
    assert after.setting == before.setting
    assert (after.state, after.row_hash, after.name) == ("finished", before.row_hash, before.name)
    for name in ("metrics.csv", "hypotheses/test.bleu.csv"):
        assert (after.folder / name).read_bytes() == (trained / name).read_bytes()


def test_it_holds_no_text_and_nothing_of_the_machine(trained: Path, records: Path) -> None:
    (path,) = records.iterdir()
    text = path.read_text()
    status = json.loads((trained / "status.json").read_text())
    assert status["host"] not in text
    assert str(trained.parents[2]) not in text
    hypotheses = (trained / "hypotheses" / "test.txt").read_text().splitlines()
    assert not any(line and line in text for line in hypotheses if len(line) > 8)


def test_a_second_time_nothing_is_written(trained: Path, records: Path) -> None:
    assert record(trained.parents[2], records) == []


def test_a_run_scored_once_more_is_recorded_once_more(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs" / trained.name
    shutil.copytree(trained, run)
    (path,) = record(tmp_path / "runs", tmp_path / "records")
    evaluation = run / "evaluations" / "0123abcd.json"
    evaluation.parent.mkdir(exist_ok=True)
    evaluation.write_text('{"splits": {}}\n')
    assert record(tmp_path / "runs", tmp_path / "records") == [path]
    (folder,) = unpacked(tmp_path / "records").rglob(trained.name)
    assert (folder / "evaluations" / "0123abcd.json").read_text() == evaluation.read_text()


def test_a_record_with_another_result_stays_and_is_named(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "runs" / trained.name
    shutil.copytree(trained, run)
    (path,) = record(tmp_path / "runs", tmp_path / "records")
    before = path.read_bytes()
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(result | {"commit": "another"}))
    assert record(tmp_path / "runs", tmp_path / "records") == []
    assert path.read_bytes() == before
    assert f"{path}: is there already" in capsys.readouterr().err


def test_two_records_of_one_run_are_refused(records: Path) -> None:
    (path,) = records.iterdir()
    shutil.copy(path, records / "zz.json")
    with pytest.raises(UserError, match=r"zz\.json: another record here is of the same run"):
        unpacked(records)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.yaml", None),
        ("config.yaml", b""),
        ("config.yaml", b"- a list"),
        ("config.yaml", b"seed: 1"),
        ("config.yaml", b"\xff"),
        ("result.json", b"\xff"),
        ("metrics.csv", b"\xff"),
    ],
)
def test_a_damaged_run_is_passed_over_and_named(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None
) -> None:
    whole, damaged = (tmp_path / "runs" / place / trained.name for place in ("table3/base", "custom"))
    for folder in (whole, damaged):
        shutil.copytree(trained, folder)
    if content is None:
        (damaged / name).unlink()
    else:
        (damaged / name).write_bytes(content)
    shutil.copytree(damaged, tmp_path / "alone" / trained.name)
    assert record(tmp_path / "alone", tmp_path / "records") == []
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("xformer: not recorded: ")
    assert name in told
    assert len(record(tmp_path / "runs", tmp_path / "records")) == 1  # the other one


def test_a_sweep_told_of_it_counts_the_run_as_done(records: Path, xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", "-m", "experiments=table3/base", "seed=1", *SMALL, "done_dir=records")
    assert ended.returncode == 0, ended.stderr
    assert "1 run: 1 skipped" in ended.stderr
    assert not (tmp_path / "runs" / "table3").exists()
    assert "finished" in xformer("report", "records").stdout
    assert xformer("train", "experiments=table3/base", "seed=2", *SMALL).returncode == 0
    joined = build_report(tmp_path / "runs", records=records)
    assert sorted(run.seed for run in joined.runs if run.seed is not None) == [1, 2]
    record(tmp_path / "runs", records)
    assert len(build_report(tmp_path / "runs", records=records).runs) == 2, "none is counted twice"


def test_a_search_reads_the_record_of_a_trial_as_it_reads_its_folder(trained: Path, records: Path) -> None:
    (kept,) = records.glob("*.json")
    assert objective(str(kept)) == objective(str(trained))
    assert not math.isnan(objective(str(kept)))


def test_a_folder_of_records_that_is_not_there_starts_nothing(xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", "-m", "seed=1,2", *SMALL, "done_dir=nowhere")
    assert ended.returncode == 2
    assert "nowhere: no such folder" in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_a_damaged_record_is_named(records: Path) -> None:
    (path,) = records.iterdir()
    path.write_text(path.read_text()[:100])
    done.cache_clear()
    with pytest.raises(UserError, match=path.name):
        done(records)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"run": None}, "run: "),
        ({"run": ""}, "run: "),
        ({"files": ["config.yaml"]}, "files: "),
        ({"files": {"config.yaml": 1}}, r"files\.config\.yaml: must be a valid string"),
    ],
)
def test_a_record_of_another_shape_is_named_with_its_key(
    records: Path, changed: dict[str, Any], message: str
) -> None:
    change(records, **changed)
    for read in (done, unpacked):
        with pytest.raises(UserError, match=rf"table3-base-.*\.json: is no whole record of a run: {message}"):
            read(records)


@pytest.mark.parametrize("key", ["experiment", "run", "files"])
def test_a_record_without_one_of_its_keys_is_refused_by_every_reader(records: Path, key: str) -> None:
    (path,) = records.iterdir()
    content = json.loads(path.read_text())
    del content[key]
    path.write_text(json.dumps(content))
    done.cache_clear()
    for read in (done, unpacked):
        with pytest.raises(UserError, match=rf"{path.name}: is no whole record of a run: {key}: is missing"):
            read(records)


@pytest.mark.parametrize(
    "changed",
    [
        {"files": {"../../../../escaped.txt": "x"}},
        {"files": {"../escaped.txt": "x"}},
        {"files": {"../another-run/escaped.txt": "x"}},
        {"files": {"/escaped.txt": "x"}},
        {"run": "../../../escaped.txt"},
        {"experiment": "/escaped.txt"},
        {"experiment": ".", "run": "escaped.txt/.."},
        {"files": {"escaped.txt": "x", "escaped.txt/status.json": "x"}},
        {"files": {"escaped.txt\0": "x"}},
    ],
)
def test_a_record_cannot_write_outside_of_its_run(records: Path, changed: dict[str, Any]) -> None:
    change(records, **changed)
    with pytest.raises(UserError, match=r"table3-base-.*\.json: (.*escaped\.txt|cannot be unpacked: .*null)"):
        unpacked(records)
