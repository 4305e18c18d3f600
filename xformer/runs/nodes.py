"""This machine among those that share one run: its number, and where the first of them is met.

A cluster says so itself; by hand it is said as Lightning's and torchrun's users say it, in NODE_RANK,
MASTER_ADDR and MASTER_PORT.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from xformer.errors import UserError

_PORTS = range(20_000, 30_000)  # one of these, by the number of the cluster's job


@dataclass(frozen=True)
class Node:
    """One machine of a run; number 0 leads: it holds the run folder, scores, and tells how it ended."""

    number: int
    count: int
    address: str  # of number 0
    port: int

    def torchrun(self, devices: int) -> list[str]:
        """What `torch.distributed.run` is told to start `devices` ranks here as part of the whole."""
        if self.count == 1:
            return ["--standalone", f"--nproc-per-node={devices}"]
        return [
            f"--nnodes={self.count}",
            f"--node-rank={self.number}",
            f"--master-addr={self.address}",
            f"--master-port={self.port}",
            f"--nproc-per-node={devices}",
        ]


ALONE = Node(0, 1, "localhost", 0)


def this_node(count: int, environment: Mapping[str, str] = os.environ) -> Node:
    """The place of this machine among `count`; raises UserError where nothing tells it."""
    if count == 1:
        return ALONE
    try:
        if "SLURM_NODEID" in environment:
            present = int(environment["SLURM_JOB_NUM_NODES"])
            node = Node(int(environment["SLURM_NODEID"]), count, _first_host(environment), _port(environment))
        else:
            present = count
            node = Node(
                int(environment["NODE_RANK"]),
                count,
                environment["MASTER_ADDR"],
                int(environment["MASTER_PORT"]),
            )
    except (KeyError, ValueError) as error:
        raise UserError(
            f"trainer.num_nodes={count}: nothing tells which of them this is ({error}). Use "
            f"hydra/launcher=slurm hydra.launcher.nodes={count}, or start the same command on each machine "
            "with NODE_RANK=0, 1, … and the first one's MASTER_ADDR and MASTER_PORT"
        ) from None
    if present != count or not 0 <= node.number < count:
        raise UserError(
            f"trainer.num_nodes={count}: this is node {node.number} of {present}; ask the cluster for as "
            f"many (hydra.launcher.nodes={count})"
        )
    return node


def _first_host(environment: Mapping[str, str]) -> str:
    """SLURM writes host names in a short form that its own command spells out; ValueError where it cannot."""
    names = environment["SLURM_JOB_NODELIST"]
    if "[" not in names:
        return names.split(",")[0]
    command = ["scontrol", "show", "hostnames", names]
    try:
        spelled = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise ValueError(f"{' '.join(command)}: {error.strerror}") from None
    if spelled.returncode or not spelled.stdout.strip():
        why = spelled.stderr.strip() or f"exit code {spelled.returncode}"
        raise ValueError(f"{' '.join(command)}: {' '.join(why.split())}")
    return spelled.stdout.split()[0]


def _port(environment: Mapping[str, str]) -> int:
    return _PORTS[int(environment["SLURM_JOB_ID"]) % len(_PORTS)]
