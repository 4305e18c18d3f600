"""What submitit lacks on a SLURM cluster: lost jobs are noticed, those of a stopped sweep cancelled.

By itself submitit asks the cluster's accounting (`sacct`) how its jobs are, which many clusters do not have;
a job that was cancelled, or whose machine died, is then waited for without end. The queue (`squeue`) is
always there.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any
from unittest import mock

from hydra.core.utils import JobReturn, JobStatus
from submitit.core.core import InfoWatcher
from submitit.core.utils import FailedJobError, UncompletedJobError
from submitit.slurm.slurm import SlurmJob

from xformer.errors import UserError

_OVER = frozenset(
    {
        "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT",
        "VANISHED",
    }
)  # fmt: skip


class _Queue(InfoWatcher):
    """The states of jobs as the queue has them; one that the queue no longer knows has vanished."""

    def _make_command(self) -> list[str] | None:
        if not self._registered - self._finished:
            return None
        return ["squeue", "--me", "--array", "--noheader", "--states=all", "--format=%F_%K|%A|%T"]

    def read_info(self, string: bytes | str) -> dict[str, dict[str, str]]:
        """States by the names that submitit has for jobs: of an array, or alone."""
        text = string if isinstance(string, str) else string.decode()
        known: dict[str, dict[str, str]] = {}
        for line in text.split():
            in_array, alone, state = line.split("|")
            known[in_array] = known[alone] = {"State": state}
        return {job: known.get(job, {"State": "VANISHED"}) for job in self._registered | known.keys()}

    def left(self) -> list[str]:
        """The jobs that are not over."""
        return sorted(job for job in self._registered if not self.is_done(job, mode="force"))

    def get_state(self, job_id: str, mode: str = "standard") -> str:
        return self.get_info(job_id, mode=mode).get("State", "UNKNOWN")

    def is_done(self, job_id: str, mode: str = "standard") -> bool:
        return self.get_state(job_id, mode=mode) in _OVER


def _results(job: SlurmJob[Any]) -> list[Any]:
    """What the job returned; NaN, as Hydra wraps it, for a lost one: the others are still waited for."""
    try:
        return _submitit_results(job)
    except (UncompletedJobError, FailedJobError):
        return [JobReturn(_return_value=math.nan, status=JobStatus.COMPLETED)]


_submitit_results = SlurmJob.results


@contextlib.contextmanager
def attended() -> Iterator[None]:
    """While a sweep lasts, its jobs are looked after as above; those still queued when it ends are cancelled.

    Raises UserError where there is no SLURM.
    """
    if missing := [name for name in ("sbatch", "srun", "squeue", "scancel") if shutil.which(name) is None]:
        raise UserError(
            f"hydra/launcher: SLURM's {', '.join(missing)} cannot be found; start this on a machine of the "
            "cluster, or choose another engine (docs/engines.md)"
        )
    queue = _Queue(delay_s=15)
    with mock.patch.multiple(SlurmJob, watcher=queue, results=_results):
        try:
            yield
        except BaseException:
            if left := queue.left():
                subprocess.run(["scancel", *left], check=False)
            raise
