"""A row of a table differs from its base in what its file declares, and in nothing else."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from omegaconf import OmegaConf

from xformer.config import schema
from xformer.config.changes import (
    at_scale,
    base_of,
    covers,
    solved,
    source_of,
    undeclared,
    undeclared_changes,
)
from xformer.config.compose import Job, compose, compose_job
from xformer.config.differences import ABSENT, Difference, differences
from xformer.config.locations import config_root

FOLDER = config_root() / "experiments"
EXPERIMENTS = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.yaml"))


@cache
def composed(experiment: str) -> Job:
    return compose_job([f"experiments={experiment}"])


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_differs_from_its_base_only_in_what_it_declares(experiment: str) -> None:
    job, base = composed(experiment), composed(base_of(experiment) or schema.BASE)
    for scale in ("paper", "tiny"):
        assert undeclared(at_scale(job, scale), at_scale(base, scale).config) == []


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_declares_nothing_that_it_leaves_as_it_was(experiment: str) -> None:
    job = at_scale(composed(experiment), "paper").config
    bases = (
        base_of(experiment) or schema.BASE,
        schema.BASE,
    )  # a file that builds on another may repeat its changes
    changed = [each for base in bases for each in differences(at_scale(composed(base), "paper").config, job)]
    for declared in job.changes:
        assert any(covers(declared, each.key) for each in changed), declared


def experiment_files(folder: Path, **files: str) -> Path:
    (folder / "experiments").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "experiments" / f"{name}.yaml").write_text(f"# @package _global_\n{text}")
    return folder


def test_a_change_that_is_not_declared_is_found_with_both_values(tmp_path: Path) -> None:
    text = "changes: [model.heads]\nmodel:\n  heads: 4\n  dropout: 0.3\nbatch:\n  tokens_per_update: 400\n"
    folder = experiment_files(tmp_path, mine=text)
    assert undeclared_changes("mine", config_dir=folder) == [
        Difference("model.dropout", 0.1, 0.3),
        Difference("batch.tokens_per_update", 300, 400),
    ]


def test_another_choice_of_a_group_is_declared_by_the_groups_name_or_not_at_all(tmp_path: Path) -> None:
    defaults = "defaults:\n  - override /model/position: learned\n"
    folder = experiment_files(
        tmp_path, open=f"{defaults}changes: [model.position]\n", hidden=f"{defaults}changes: [model.posit]\n"
    )
    assert undeclared_changes("open", config_dir=folder) == []
    keys = [each.key for each in undeclared_changes("hidden", config_dir=folder)]
    assert keys == ["model.position.kind", "model.position.layout", "model.position.max_length"]


def test_a_key_that_follows_a_declared_one_is_exempt_and_one_that_is_set_is_not(tmp_path: Path) -> None:
    follows = "changes: [model.heads]\nmodel:\n  heads: 4\n"
    folder = experiment_files(tmp_path, follows=follows, sets=f"{follows}  key_value_heads: 2\n")
    (derived,) = (
        each
        for each in differences(compose([]), compose(["experiments=follows"], config_dir=folder))
        if each.key != "model.heads"
    )
    assert derived == Difference("model.key_value_heads", 8, 4)
    assert undeclared_changes("follows", config_dir=folder) == []
    assert undeclared_changes("sets", config_dir=folder) == [Difference("model.key_value_heads", 8, 2)]


def test_what_both_sides_are_given_on_the_command_line_does_not_count(tmp_path: Path) -> None:
    folder = experiment_files(tmp_path, mine="changes: [model.heads]\nmodel:\n  heads: 4\n")
    assert undeclared_changes("mine", ["scale=mini", "optim.beta2=0.9"], config_dir=folder) == []


def test_a_file_that_builds_on_another_is_compared_with_that_one(tmp_path: Path) -> None:
    folder = experiment_files(
        tmp_path,
        first="changes: [model.heads]\nmodel:\n  heads: 4\n",
        beside="defaults:\n  - first\n  - _self_\nchanges: [model.dropout]\nmodel:\n  dropout: 0.3\n",
        wider="defaults:\n  - /experiments/table3/big\n  - _self_\nchanges: [seed]\nseed: 5\n",
    )
    assert base_of("beside", folder) == "first"
    assert base_of("wider", folder) == "table3/big"
    assert base_of("first", folder) == "table3/base"
    assert base_of("table3/base", folder) is None
    assert undeclared_changes("beside", config_dir=folder) == []
    assert undeclared_changes("wider", config_dir=folder) == []


def test_the_width_that_the_matching_solves_is_exempt() -> None:
    def matched(by: str) -> schema.Config:
        return cast(schema.Config, SimpleNamespace(model=SimpleNamespace(match=by)))

    assert solved("model.d_ff", matched("params"))
    assert not solved("model.d_k", matched("params"))
    assert not solved("model.d_ff", matched("none"))


def test_interpolations_are_followed_through_other_keys_groups_and_resolvers() -> None:
    written = OmegaConf.create(
        {
            "model": {"heads": 8, "near": "${.heads}", "far": "${model.near}", "free": 8,
                      "inner": {"up": "${..heads}", "two": "${width:2}_${model.free}"}},
            "copy": "${model.inner}",
            "scale": {"width": 1},
        }
    )  # fmt: skip
    for key in ("model.near", "model.far", "model.inner.up", "copy"):
        assert source_of(key, ["model.heads"], written) == "model.heads", key
    assert source_of("model.inner.two", ["model.heads"], written) is None
    assert source_of("model.inner.two", ["model.free"], written) == "model.free"
    assert source_of("model.inner.two", ["scale"], written) == "scale"
    assert source_of("copy", ["model.inner.two"], written) == "model.inner.two"
    assert source_of("model.heads", ["model.heads"], written) is None


def test_a_loop_of_interpolations_ends() -> None:
    written = OmegaConf.create({"a": "${b}", "b": "${a}"})
    assert source_of("a", ["c"], written) is None


@pytest.mark.parametrize("scale", ["paper", "small"])
def test_a_configuration_taken_to_another_scale_is_the_one_composed_there(scale: str) -> None:
    overrides = ["experiments=table3/big", "model.layers=3", "optim.beta2=0.9"]
    there = compose([*overrides, f"scale={scale}"])
    assert at_scale(compose_job(overrides), scale).config == there


def test_keys_that_only_one_side_has_are_told_apart_from_values() -> None:
    found = {each.key: each for each in differences(compose([]), compose(["model/position=learned"]))}
    assert found["model.position.layout"] == Difference("model.position.layout", "interleaved", ABSENT)
    assert found["model.position.max_length"].left == ABSENT
    assert set(found) == {"model.position.kind", "model.position.layout", "model.position.max_length"}
