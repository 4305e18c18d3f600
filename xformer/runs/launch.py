"""A command of one run or many, all checked by now: run by Hydra's launchers, then summed up."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from xformer.config.compose import Plan, from_hydra, search_path
from xformer.config.locations import config_root
from xformer.config.overrides import quote
from xformer.config.scales import register_resolvers
from xformer.errors import UserError
from xformer.files import read_json, write_json
from xformer.runs.engines import engine, hand_on
from xformer.runs.outcome import FAILED, INTERRUPTED, Outcome, exit_code, summary
from xformer.runs.record import done
from xformer.runs.search import best, objective, study_of, to_go_on
from xformer.runs.supervisor import supervise
from xformer.runs.wandb_login import wanted_mode
from xformer.wording import counted


class SweepStopped(BaseException):
    """Ends a sweep whose run was interrupted, past anything that catches errors."""


def launch(planned: Plan, overrides: Sequence[str], *, config_dir: Path | None = None) -> int:
    """Run the jobs that `overrides` were planned into; returns the exit code.

    Raises UserError for a `done_dir` that cannot be read, a `runs_dir` that cannot be written or a WANDB_MODE
    that there is none of, before anything is started.
    """
    trackers = [job.config.tracking for job in planned.jobs]
    if any(each.kind == "wandb" and each.mode == "auto" for each in trackers):
        wanted_mode()
    for done_dir in {job.config.done_dir for job in planned.jobs} - {None}:
        done(Path(str(done_dir)))
    if planned.search:
        _make(Path(planned.jobs[0].config.runs_dir))  # the study is stored there
        overrides = [*overrides, *to_go_on(study_of(planned))]
    if planned.sweep:
        code = _sweep(planned, overrides, config_dir)
        if planned.search:
            print(best(study_of(planned)), file=sys.stderr)
        return code
    (job,) = planned.jobs
    outcome = supervise(job.config, job.overrides)
    print(_line(outcome), file=sys.stderr)
    return exit_code([outcome], sweep=False)


def _sweep(planned: Plan, overrides: Sequence[str], config_dir: Path | None) -> int:
    """Give the jobs to the chosen launcher; each leaves its outcome in the sweep's folder."""
    runs_dir = Path(planned.jobs[0].config.runs_dir).resolve()
    folder = runs_dir / ".sweeps" / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}-{os.getpid()}"
    _make(folder)
    count = "a search" if planned.search else counted(len(planned.jobs), "run")
    print(f"{count}, into {runs_dir}", file=sys.stderr)
    # Hydra reads its command line; a launcher ships these words to each job.
    sys.argv[1:] = ["--multirun", *overrides, search_path(config_dir), f"hydra.sweep.dir={quote(folder)}"]
    stopped: int | None = None
    global _sweeping
    _sweeping = True
    try:
        with engine(planned.hydra.launcher._target_):
            hydra.main(version_base="1.3", config_path=str(config_root() / "conf"), config_name="train")(
                _job
            )()
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    except SweepStopped as stop:
        stopped = int(str(stop))
    except SystemExit:  # Hydra has printed what its launcher could not do
        stopped = FAILED
    finally:
        _sweeping = False
    outcomes = _outcomes(folder, planned, lost=stopped is None)
    print(summary(outcomes, len(outcomes) if planned.search else len(planned.jobs)), file=sys.stderr)
    return exit_code(outcomes, sweep=True) if stopped is None else stopped


# Whether this is the process that runs a sweep; a launcher's others import this file afresh.
_sweeping = False


def _one_by_one() -> bool:
    """Whether jobs run in the sweep's own process and thread, one after the other, whatever the launcher is.

    A signal then reaches a job alone, and the sweep has to hear of it.
    """
    return _sweeping and threading.current_thread() is threading.main_thread()


_PROBE = 65_536  # bytes; what a sweep writes about itself is less


def _make(folder: Path) -> None:
    """Make a folder under `runs_dir` that can be written. Raises UserError where that is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # On a full disk this fails, and Hydra would with a traceback.
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE))
            probe.flush()
    except OSError as error:
        raise UserError(
            f"runs_dir: cannot write {folder}: {error.strerror or error}. "
            "Free some space there, or set runs_dir to a folder that can be written; nothing was started."
        ) from None


def _job(composed: DictConfig) -> float:
    """One point of a sweep, wherever the launcher runs it; returns what a search makes small."""
    register_resolvers()
    job = HydraConfig.get()
    overrides = list(job.overrides.task)
    config = from_hydra(composed, job.runtime.choices, overrides)
    outcome = supervise(config, overrides, sweep=True, alone=_one_by_one())
    print(_line(outcome), file=sys.stderr, flush=True)
    if outcome.node == 0:
        _note(Path(job.sweep.dir) / _OUTCOME.format(job.job.num), outcome)
    if outcome.ending == "interrupted":
        hand_on(outcome.signal)
        if _one_by_one():
            raise SweepStopped(exit_code([outcome], sweep=True))
    return objective(outcome.folder)


def _note(path: Path, outcome: Outcome) -> None:
    """Leave word of how a job ended; on a full disk the other jobs go on all the same."""
    try:
        write_json(path, dataclasses.asdict(outcome))
    except OSError as error:
        print(f"xformer: {path}: cannot be written: {error.strerror or error}", file=sys.stderr, flush=True)


_OUTCOME = "outcome-{:05d}.json"


def _outcomes(folder: Path, planned: Plan, *, lost: bool) -> list[Outcome]:
    """How each job ended; `lost` adds those that should have ended and left no word."""
    if planned.search:
        return [_read(path) for path in sorted(folder.glob("outcome-*.json"))]
    outcomes = []
    for number, job in enumerate(planned.jobs):
        path = folder / _OUTCOME.format(number)
        if path.exists():
            outcomes.append(_read(path))
        elif lost:
            reason = "its job was lost or cancelled; the same command runs it again"
            outcomes.append(Outcome(job.config.experiment, job.config.seed, "failed", reason=reason))
    return outcomes


def _line(outcome: Outcome) -> str:
    where = f"  {outcome.folder}" if outcome.folder else ""
    reason = f": {outcome.reason}" if outcome.reason else ""
    run = f"{outcome.experiment} seed {outcome.seed} ({outcome.seconds:.0f} s)"
    return f"{outcome.ending:11} {run}{where}{reason}"


def _read(path: Path) -> Outcome:
    return Outcome(**read_json(path))
