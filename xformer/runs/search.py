"""A search by Optuna's sweeper: what it makes small, how it goes on, what it has found (sweeps/lr.yaml)."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import math
from pathlib import Path

from omegaconf import DictConfig, open_dict

from xformer.config.compose import Plan
from xformer.config.keys import key_of
from xformer.config.overrides import quote
from xformer.config.validate import dump
from xformer.runs.folder import RunFolder
from xformer.runs.identity import telling
from xformer.runs.record import recorded_result


def objective(kept: str | None) -> float:
    """Dev perplexity after the last update of the run in a folder, or in the record that stands for one.

    NaN, a failed trial to Optuna, where there is none.
    """
    if kept is None:
        return math.nan
    path = Path(kept)
    try:
        result = recorded_result(path) if path.is_file() else RunFolder(path).result()
        return float(result["dev"]["perplexity"]) if result else math.nan
    except (KeyError, TypeError, ValueError):  # somebody has been at the file
        return math.nan


def study_of(planned: Plan) -> DictConfig:
    """The sweeper, its study named after the row as well: what trials of one row found is not of another.

    Of a search's jobs, which are the corners of what is searched, the words that all have make the row.
    """
    sweeper: DictConfig = copy.deepcopy(planned.hydra.sweeper)
    if sweeper.get("study_name"):
        first = planned.jobs[0]
        fixed = set(first.overrides).intersection(*(job.overrides for job in planned.jobs))
        words = sorted(telling([*fixed]) + [word for word in fixed if key_of(word) == "seed"])
        data = {key: value for key, value in dump(first.config)["data"].items() if key != "dir"}
        row = [first.config.experiment, first.config.scale.name, data, words]
        digest = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:8]
        with open_dict(sweeper):
            sweeper.study_name = f"{sweeper.study_name}-{digest}"
    return sweeper


def to_go_on(sweeper: DictConfig) -> list[str]:
    """Overrides that let a stored study end at `n_trials` in all, a trial that was cut short first.

    Optuna's sweeper by itself adds `n_trials` at each start, and a sampler with a fixed seed then draws the
    same points again.
    """
    if not (sweeper.get("storage") and sweeper.get("study_name")):
        return []
    import optuna

    optuna.logging.set_verbosity(logging.WARNING)
    study = optuna.create_study(
        storage=sweeper.storage,
        study_name=sweeper.study_name,
        direction=_direction(sweeper),
        load_if_exists=True,
    )
    states = optuna.trial.TrialState
    for trial in study.get_trials(states=(states.RUNNING,)):
        study.tell(trial.number, state=states.FAIL)
        study.enqueue_trial(trial.params)
    done = len(study.get_trials(states=(states.COMPLETE, states.PRUNED)))
    words = [
        f"hydra.sweeper.study_name={quote(sweeper.study_name)}",
        f"hydra.sweeper.n_trials={max(0, sweeper.n_trials - done)}",
    ]
    if (seed := sweeper.sampler.get("seed")) is not None:
        words.append(f"hydra.sweeper.sampler.seed={seed + len(study.trials)}")
    return words


def best(sweeper: DictConfig) -> str:
    """The best trial of a stored study, in a line."""
    if not (sweeper.get("storage") and sweeper.get("study_name")):
        return "the study was not stored (hydra.sweeper.storage)"
    import optuna

    study = optuna.load_study(storage=sweeper.storage, study_name=sweeper.study_name)
    trials = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    if not trials:
        return "no trial of the search has finished"
    found = study.best_trial
    words = " ".join(f"{key}={value}" for key, value in found.params.items())
    return f"best of {len(trials)}: dev perplexity {found.value:.4g} with {words}"


def _direction(sweeper: DictConfig) -> str:
    return str(getattr(sweeper.direction, "name", sweeper.direction))
