"""A machine finds its place among those that share a run, or says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from xformer.errors import UserError
from xformer.runs.nodes import ALONE, Node, this_node

BY_HAND = {"NODE_RANK": "1", "MASTER_ADDR": "first", "MASTER_PORT": "4321"}
SLURM = {
    "SLURM_NODEID": "2", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_NODELIST": "gpu7,gpu8,gpu9",
    "SLURM_JOB_ID": "10017",
}  # fmt: skip


def test_one_machine_needs_nobody_to_tell_it() -> None:
    assert this_node(1, BY_HAND) == ALONE
    assert ALONE.torchrun(4) == ["--standalone", "--nproc-per-node=4"]


def test_by_hand_and_on_a_cluster() -> None:
    assert this_node(2, BY_HAND) == Node(1, 2, "first", 4321)
    assert this_node(3, SLURM | BY_HAND) == Node(2, 3, "gpu7", 20_017)


def test_torchrun_is_told_where_the_first_is() -> None:
    assert Node(1, 2, "first", 4321).torchrun(8) == [
        "--nnodes=2", "--node-rank=1", "--master-addr=first", "--master-port=4321", "--nproc-per-node=8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "environment", "told"),
    [
        (2, {}, "NODE_RANK"),
        (2, BY_HAND | {"MASTER_PORT": "http"}, "http"),
        (2, BY_HAND | {"NODE_RANK": "2"}, "node 2 of 2"),
        (2, SLURM, "of 3"),
    ],
)
def test_what_does_not_fit_is_refused(count: int, environment: dict[str, str], told: str) -> None:
    with pytest.raises(UserError, match=rf"trainer\.num_nodes={count}.*{told}"):
        this_node(count, environment)


def scontrol(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a command of this name in the only folder that commands are looked for in."""
    monkeypatch.setenv("PATH", str(folder))
    (folder / "scontrol").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "scontrol").chmod(0o755)


SHORT = SLURM | {"SLURM_JOB_NODELIST": "gpu[7-9]"}


def test_the_cluster_spells_out_its_short_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol(tmp_path, monkeypatch, 'echo "$1 $2 $3" >&2; echo gpu7; echo gpu8; echo gpu9')
    assert this_node(3, SHORT) == Node(2, 3, "gpu7", 20_017)


def test_a_cluster_that_cannot_be_asked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = r"trainer\.num_nodes=3: .*scontrol show hostnames gpu\[7-9\]: "
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=told + "No such file"):
        this_node(3, SHORT)
    scontrol(tmp_path, monkeypatch, "echo no controller >&2; exit 1")
    with pytest.raises(UserError, match=told + "no controller"):
        this_node(3, SHORT)
    scontrol(tmp_path, monkeypatch, "exit 0")
    with pytest.raises(UserError, match=told + "exit code 0"):
        this_node(3, SHORT)
