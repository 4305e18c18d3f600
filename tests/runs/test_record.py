"""A record stands for a run folder: in a report, and in a sweep that is told of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.system.commands import SMALL, Command
from xformer.errors import UserError
from xformer.runs.record import done, record, unpacked
from xformer.study.collect import collect


@pytest.fixture
def records(trained: Path, tmp_path: Path) -> Path:
    """A folder with the record of one run."""
    assert len(record(trained.parents[2], tmp_path / "records")) == 1
    return tmp_path / "records"


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


def test_a_run_that_lost_its_configuration_is_passed_over(trained: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "runs" / "custom" / trained.name
    shutil.copytree(trained, damaged)
    (damaged / "config.yaml").unlink()
    assert record(tmp_path / "runs", tmp_path / "records") == []


def test_a_sweep_told_of_it_counts_the_run_as_done(records: Path, xformer: Command, tmp_path: Path) -> None:
    ended = xformer("train", "-m", "experiments=table3/base", "seed=1", *SMALL, "done_dir=records")
    assert ended.returncode == 0, ended.stderr
    assert "1 run: 1 skipped" in ended.stderr
    assert not (tmp_path / "runs" / "table3").exists()
    assert "finished" in xformer("report", "records").stdout


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


def test_a_record_cannot_write_outside_of_its_run(records: Path) -> None:
    (path,) = records.iterdir()
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"files": {"../../../../escaped.txt": "x"}}))
    with pytest.raises(UserError, match=r"escaped\.txt"):
        unpacked(records)
