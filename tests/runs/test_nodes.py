"""A machine finds its place among those that share a run, or says what is missing."""

from __future__ import annotations

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
