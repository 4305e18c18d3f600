"""A command of one run or many, all checked by now: run by Hydra's launchers, then summed up."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from xformer.config.compose import Plan, from_hydra, quote, search_path
from xformer.config.locations import config_root
from xformer.config.scales import register_resolvers
from xformer.files import read_json, write_json
from xformer.runs.forked import nursery
from xformer.runs.outcome import INTERRUPTED, Outcome, exit_code, summary
from xformer.runs.supervisor import supervise


class SweepStopped(BaseException):
    """Ends a sweep whose run was interrupted, past anything that catches errors."""


def launch(planned: Plan, overrides: Sequence[str], *, config_dir: Path | None = None) -> int:
    """Run the jobs that `overrides` were planned into; returns the exit code."""
    if planned.sweep:
        return _sweep(planned, overrides, config_dir)
    (job,) = planned.jobs
    outcome = supervise(job.config, job.overrides)
    print(_line(outcome), file=sys.stderr)
    return exit_code([outcome], sweep=False)


def _sweep(planned: Plan, overrides: Sequence[str], config_dir: Path | None) -> int:
    """Give the jobs to the chosen launcher; each leaves its outcome in the sweep's folder."""
    runs_dir = Path(planned.jobs[0].config.runs_dir).resolve()
    folder = runs_dir / ".sweeps" / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}-{os.getpid()}"
    folder.mkdir(parents=True)
    print(f"{len(planned.jobs)} runs, into {runs_dir}", file=sys.stderr)
    # Hydra reads its command line; a launcher ships these words to each job.
    sys.argv[1:] = ["--multirun", *overrides, search_path(config_dir), f"hydra.sweep.dir={quote(folder)}"]
    stopped: int | None = None
    try:
        with nursery():
            hydra.main(version_base="1.3", config_path=str(config_root() / "conf"), config_name="train")(
                _job
            )()
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    except SweepStopped as stop:
        stopped = int(str(stop))
    outcomes = [_read(path) for path in sorted(folder.glob("outcome-*.json"))]
    print(summary(outcomes, len(planned.jobs)), file=sys.stderr)
    if stopped is not None:
        return stopped
    code = exit_code(outcomes, sweep=True)
    return code if len(outcomes) == len(planned.jobs) else code or 1


def _job(composed: DictConfig) -> None:
    """One point of a sweep, wherever the launcher runs it."""
    register_resolvers()
    job = HydraConfig.get()
    overrides = list(job.overrides.task)
    config = from_hydra(composed, job.runtime.choices, overrides)
    alone = job.launcher._target_.endswith("BasicLauncher")
    outcome = supervise(config, overrides, sweep=True, alone=alone)
    print(_line(outcome), file=sys.stderr, flush=True)
    write_json(Path(job.sweep.dir) / f"outcome-{job.job.num:05d}.json", dataclasses.asdict(outcome))
    if outcome.ending == "interrupted" and alone:
        raise SweepStopped(exit_code([outcome], sweep=True))


def _line(outcome: Outcome) -> str:
    where = f"  {outcome.folder}" if outcome.folder else ""
    reason = f": {outcome.reason}" if outcome.reason else ""
    run = f"{outcome.experiment} seed {outcome.seed} ({outcome.seconds:.0f} s)"
    return f"{outcome.ending:11} {run}{where}{reason}"


def _read(path: Path) -> Outcome:
    return Outcome(**read_json(path))
