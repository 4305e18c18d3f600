"""Reading folders: what is there is read, and what is broken is said to be."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.study.folders import config, result, scores, write_failed, write_json, write_run
from xformer.config.compose import compose
from xformer.config.validate import dump
from xformer.errors import UserError
from xformer.runs.folder import RunFolder, held
from xformer.study.collect import collect
from xformer.study.run import Run


def only(root: Path) -> Run:
    (run,) = collect(root)
    return run


def test_a_finished_run_is_read_whole(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path, "table3/A_h4", seed=3, outcome=result(71.5, 2.75), overrides=("model.dropout=0.2",)
    )
    run = only(tmp_path)
    assert (run.folder, run.experiment, run.seed, run.state) == (folder, "table3/A_h4", 3, "finished")
    assert run.overrides == ("model.dropout=0.2",)
    assert run.result is not None
    assert run.result.dev is not None
    assert run.result.test is not None
    assert (run.result.dev.bleu, run.result.dev.perplexity, run.result.test.bleu) == (71.5, 2.75, 70.5)
    assert (run.result.parameters, run.result.flops_per_token) == (483_072, 1.26e6)
    assert run.config is not None
    assert (run.config.model.heads, run.config.model.d_k) == (4, 16)
    assert (run.setting.scale, run.setting.data) == ("tiny", "grammar")


def test_the_configuration_that_a_run_freezes_is_readable(tmp_path: Path) -> None:
    resolved = dump(compose(["experiments=table3/B_dk16", "seed=2"]))
    write_run(tmp_path, "table3/B_dk16", seed=2, configuration=resolved)
    run = only(tmp_path)
    assert run.state == "finished", run.reason
    assert run.config is not None
    assert (run.config.model.d_k, run.config.model.d_v) == (2, 8)
    assert run.setting.scale_details == f"width 1/8, depth 1/2, updates {resolved['scale']['updates']}"


@pytest.mark.parametrize("state", ["diverged", "failed", "interrupted"])
def test_an_unfinished_run_keeps_its_state_and_reason(tmp_path: Path, state: str) -> None:
    write_run(tmp_path, state=state, reason="loss is nan at update 312")
    run = only(tmp_path)
    assert (run.state, run.reason) == (state, "loss is nan at update 312")


def test_a_running_run_whose_process_has_gone_is_lost(tmp_path: Path) -> None:
    here = {"state": "running", "host": socket.gethostname(), "pid": os.getpid()}  # a number given out again
    write_run(tmp_path, seed=1, **here)
    lives = write_run(tmp_path, seed=2, **here)
    write_run(tmp_path, seed=3, **here | {"host": "elsewhere.invalid"})
    (write_run(tmp_path, seed=4, **here) / ".lock").touch()
    with RunFolder(lives).claim():
        assert [run.state for run in collect(tmp_path)] == ["lost", "running", "running", "lost"]
    assert [run.state for run in collect(tmp_path)] == ["lost", "lost", "running", "lost"]


def test_looking_at_a_run_does_not_keep_another_process_from_it(tmp_path: Path) -> None:
    folder = write_run(tmp_path, state="running", host=socket.gethostname())
    (folder / ".lock").touch()
    with open(folder / ".lock") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        threading.Timer(0.03, looked_at.close).start()
        with RunFolder(folder).claim():
            assert held(folder)


def test_folders_that_begin_with_a_dot_are_passed_over(tmp_path: Path) -> None:
    write_run(tmp_path / ".cache")
    write_run(tmp_path / "table3" / ".old")
    assert collect(tmp_path) == []


def test_what_lies_inside_a_run_folder_is_not_another_run(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "evaluations").mkdir()
    write_json(folder / "evaluations" / "result.json", result())
    assert only(tmp_path).folder == folder


def test_an_experiment_may_lie_in_folders_of_any_depth(tmp_path: Path) -> None:
    for experiment in ("custom", "table3/base", "mine/new/idea"):
        write_run(tmp_path, experiment)
    assert [run.experiment for run in collect(tmp_path)] == ["custom", "mine/new/idea", "table3/base"]


def test_a_row_that_could_not_start_is_a_failed_run_without_a_folder(tmp_path: Path) -> None:
    path = write_failed(
        tmp_path, "table3/big", "seed=2", "model.dropout=0.2", reason="train.de: no such file"
    )
    run = only(tmp_path)
    assert (run.folder, run.experiment, run.state, run.started) == (path, "table3/big", "failed", False)
    assert (run.reason, run.overrides) == ("train.de: no such file", ("model.dropout=0.2",))


def test_a_broken_record_of_a_failure_is_unreadable(tmp_path: Path) -> None:
    write_failed(tmp_path, "table3/big", reason="x").write_text('{"experiment": "table3/b')
    assert only(tmp_path).state == "unreadable"


def test_a_folder_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        collect(tmp_path / "rnus")


def edit(folder: Path, name: str, **changes: object) -> None:
    values = json.loads((folder / name).read_text())
    write_json(folder / name, values | changes)


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("result.json", {"dev": scores(1e9, 3.0)}, "dev.bleu"),
        ("result.json", {"dev": scores(-1.0, 3.0)}, "dev.bleu"),
        ("result.json", {"dev": scores(float("nan"), 3.0)}, "dev.bleu"),
        ("result.json", {"dev": {**scores(70.0, 3.0), "bleu": "70.0"}}, "dev.bleu"),
        ("result.json", {"dev": {**scores(70.0, 3.0), "bleu": None}}, "dev.bleu"),
        ("result.json", {"dev": scores(70.0, float("inf"))}, "dev.perplexity"),
        ("result.json", {"dev": []}, "dev"),
        ("result.json", {"test": None}, "test is missing"),
        ("result.json", {"parameters": True}, "parameters"),
        ("result.json", {"parameters": 1.5}, "parameters"),
        ("result.json", {"row_hash": "ffffffff"}, "row_hash"),
        ("result.json", {"run_id": "ffffffff"}, "run_id"),
        ("status.json", {"state": "finnished"}, "state"),
        ("status.json", {"state": None}, "state"),
        ("status.json", {"pid": -1}, "pid"),
        ("status.json", {"overrides": "model.heads=4"}, "overrides"),
        ("status.json", {"experiment": "table3/big"}, "experiment"),
        ("status.json", {"seed": 9}, "seed"),
    ],
)
def test_an_impossible_value_makes_a_run_unreadable_and_names_the_key(
    tmp_path: Path, name: str, changes: dict[str, object], reason: str
) -> None:
    edit(write_run(tmp_path), name, **changes)
    run = only(tmp_path)
    assert run.state == "unreadable"
    assert reason in run.reason
    assert name in run.reason


@pytest.mark.parametrize("name", ["config.yaml", "status.json", "result.json"])
def test_a_missing_or_empty_file_makes_a_finished_run_unreadable(tmp_path: Path, name: str) -> None:
    (write_run(tmp_path, seed=1) / name).unlink()
    (write_run(tmp_path, seed=2) / name).write_bytes(b"")
    for run in collect(tmp_path):
        assert run.state == "unreadable"
        assert name in run.reason
        assert run.experiment == "table3/base"
        assert run.seed in (1, 2)


def test_a_run_folder_with_nothing_in_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "table3" / "base" / "tiny-grammar-s7-0123abcd").mkdir(parents=True)
    run = only(tmp_path)
    assert (run.experiment, run.seed, run.state) == ("table3/base", 7, "unreadable")
    assert (run.setting.scale, run.setting.data) == ("tiny", "grammar")


def test_a_file_that_is_a_folder_or_forbidden_is_unreadable(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "result.json").unlink()
    (folder / "result.json").mkdir()
    run = only(tmp_path)
    assert run.state == "unreadable"
    assert "result.json: Is a directory" in run.reason


def test_keys_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    configuration = config(novelty={"kind": "new"}, model__key_value_heads=8)
    outcome = result(novelty=1) | {"dev": scores(70.0, 3.0, comet=0.8)}
    write_run(tmp_path, configuration=configuration, outcome=outcome, novelty=[1])
    assert only(tmp_path).state == "finished"


def test_a_perfect_corpus_score_is_readable(tmp_path: Path) -> None:
    write_run(tmp_path, outcome=result() | {"dev": scores(100.00000000000004, 1.0)})
    assert only(tmp_path).state == "finished"


def test_a_json_file_cut_anywhere_is_unreadable(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    for name in ("status.json", "result.json"):
        whole = (folder / name).read_bytes()
        for length in range(0, len(whole), 7):
            (folder / name).write_bytes(whole[:length])
            assert only(tmp_path).state == "unreadable", whole[:length]
        (folder / name).write_bytes(whole)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["config.yaml", "status.json", "result.json"]),
    cut=st.integers(0, 600),
    junk=st.one_of(
        st.binary(max_size=20),
        st.sampled_from(
            [b"[" * 5000, b"- &a [*a]\n", b"!!python/object:os.system {}", b"\xff\xfe", b"2026-02-31\n"]
        ),
    ),
    keep=st.booleans(),
)
def test_no_content_of_any_file_ever_ends_in_a_traceback(
    tmp_path: Path, name: str, cut: int, junk: bytes, keep: bool
) -> None:
    folder = tmp_path / "one"
    if not folder.exists():
        write_run(folder)
    (path,) = folder.rglob(name)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] + junk + (whole[cut:] if keep else b""))
    try:
        assert only(folder).experiment
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "a: b: c",
        "- 1",
        "3",
        "&a [*a]",
        "[" * 5000 + "]" * 5000,
        "2026-01-02: 3",
        "when: 2026-02-31",
        "? [1, 2]\n: 3",
        "\x00",
        "\udcff",
    ],
)
@pytest.mark.parametrize("name", ["config.yaml", "status.json", "result.json"])
def test_a_file_of_anything_else_is_unreadable(tmp_path: Path, name: str, content: str) -> None:
    (write_run(tmp_path) / name).write_bytes(content.encode(errors="surrogateescape"))
    run = only(tmp_path)
    assert run.state == "unreadable"
    assert run.reason.startswith(name)
    assert "\n" not in run.reason


def test_yaml_that_would_build_objects_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    target = tmp_path / "made"
    (folder / "config.yaml").write_text(f"!!python/object/apply:os.mkdir ['{target}']")
    assert only(tmp_path).state == "unreadable"
    assert not target.exists()


def test_a_configuration_with_dates_and_odd_keys_is_read_leniently(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    text = yaml.safe_dump(config() | {"note": {1: "one"}}) + "when: 2026-01-02\n"
    (folder / "config.yaml").write_text(text)
    assert only(tmp_path).state == "finished"


def test_the_study_loads_neither_torch_nor_hydra() -> None:
    names = ("report", "status", "two_runs_view")
    code = f"import sys, {', '.join(f'xformer.study.{name}' for name in names)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "xformer.study.report" in done.stdout.split()
    assert not {"torch", "lightning", "hydra"} & set(done.stdout.split())
