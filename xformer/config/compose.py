"""From the words of a command line to checked configurations, by Hydra, before anything heavy is loaded."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from hydra import compose as hydra_compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from xformer.config import schema
from xformer.config.keys import key_of
from xformer.config.locations import config_root
from xformer.config.overrides import corners, gives_several, quote, single_values
from xformer.config.scales import register_resolvers
from xformer.config.sizes.matching import matched
from xformer.config.validate import unknown, validate
from xformer.errors import UserError


@dataclass(frozen=True)
class Job:
    """One run of a command: its own overrides, the configuration they lead to, and its values as written."""

    overrides: tuple[str, ...]
    config: schema.Config
    written: DictConfig = field(compare=False, repr=False)  # `${width:512}` where `config` has 64

    def with_seed(self, seed: int, overrides: Sequence[str]) -> Job:
        """The same row with another seed, as `overrides` say it."""
        written = self.written.copy()
        written.seed = seed
        return Job(tuple(overrides), replace(self.config, seed=seed), written)


@dataclass(frozen=True)
class Plan:
    """What one command asks for; a sweep may hold a single job.

    Of a search the jobs are not known beforehand: they are then the corners of what is searched.
    """

    jobs: tuple[Job, ...]
    sweep: bool
    hydra: DictConfig = field(compare=False, repr=False)  # how Hydra will run them

    @property
    def search(self) -> bool:
        """Whether each job follows from how the ones before it went."""
        return self.sweep and not _by_list(self.hydra)


def search_path(config_dir: Path | None = None) -> str:
    """The override that lets Hydra find `experiments/` and `sweeps/`, those of the user's folder first."""
    folders = [folder for folder in (config_dir, config_root()) if folder is not None]
    return "hydra.searchpath=[" + ",".join(quote(f"file://{folder.resolve()}") for folder in folders) + "]"


def plan(overrides: list[str], *, multirun: bool = False, config_dir: Path | None = None) -> Plan:
    """Compose and check every job of a command.

    Raises UserError, with all that is wrong with the first bad job, before any job could have started.
    """
    if config_dir is not None and not config_dir.is_dir():
        raise UserError(f"--config-dir {config_dir}: no such folder")
    register_resolvers()
    with initialize_config_dir(version_base="1.3", config_dir=str(config_root() / "conf")):
        try:
            return _planned(overrides, [search_path(config_dir)], multirun)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise UserError(_explain(error, config_dir)) from None


def _planned(overrides: list[str], extra: list[str], multirun: bool) -> Plan:
    """Raises UserError, or what Hydra and OmegaConf raise on purpose."""
    single = single_values(overrides)
    master = _composed(single, extra)
    if not multirun and master.hydra.mode is not RunMode.MULTIRUN:
        if len(single) < len(overrides):  # Hydra says which value is ambiguous
            _composed(overrides, extra)
        return Plan((_job(master, overrides),), sweep=False, hydra=master.hydra)
    jobs, rows = [], _Rows(extra)
    for words in _points(master, overrides):
        try:
            jobs.append(rows.job(words))
        except UserError as error:
            raise UserError(f"{error}\n(in the job {' '.join(words)}; nothing was started)") from None
    return Plan(tuple(jobs), sweep=True, hydra=master.hydra)


class _Rows:
    """The jobs of a sweep; Hydra takes a fifth of a second for each, so seeds share what was composed."""

    def __init__(self, extra: list[str]) -> None:
        self._extra = extra
        self._known: dict[tuple[str, ...], Job] = {}

    def job(self, words: list[str]) -> Job:
        """Raises UserError, or what Hydra and OmegaConf raise on purpose."""
        row = tuple(word for word in words if key_of(word) != "seed")
        seeds = [word for word in words if key_of(word) == "seed"]
        plain = re.fullmatch(r"seed=(0|[1-9][0-9]*)", seeds[0]) if len(seeds) == 1 else None
        if plain and row in self._known:
            return self._known[row].with_seed(int(plain[1]), words)
        made = _job(_composed(words, self._extra), words)
        if "${seed" not in str(made.written):  # another key that follows from the seed
            self._known[row] = made
        return made


def _composed(words: list[str], extra: list[str]) -> DictConfig:
    """What Hydra makes of some overrides. Raises UserError, or what Hydra and OmegaConf raise on purpose."""
    try:
        return hydra_compose("train", overrides=words + extra, return_hydra_config=True)
    except (HydraException, OmegaConfBaseException):
        raise
    except (
        Exception
    ) as error:  # model=null and decode=[1,2] break it here or there, with any exception at all
        raise UserError(
            f"{' '.join(words)}: cannot be composed ({_explain(error)}); give a group the name of one choice"
        ) from None


def compose(overrides: list[str], *, config_dir: Path | None = None) -> schema.Config:
    """Compose and check one configuration. Raises UserError, for a sweep too."""
    return compose_job(overrides, config_dir=config_dir).config


def compose_job(overrides: list[str], *, config_dir: Path | None = None) -> Job:
    """Like `compose`, with the way in which each value was written. Raises UserError, for a sweep too."""
    for word in overrides:
        if gives_several(word):
            raise UserError(f"{word}: several values where one configuration is asked for; give one")
    planned = plan(overrides, config_dir=config_dir)
    if planned.sweep:
        raise UserError("a sweep where one configuration is asked for; give one value for each key")
    return planned.jobs[0]


def from_hydra(composed: DictConfig, choices: Mapping[str, Any], overrides: Sequence[str]) -> schema.Config:
    """Check a configuration that Hydra composed from `overrides`, with the `choices` made in each group."""
    values = OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"])
    try:
        plain: Any = OmegaConf.to_container(values, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise UserError(_explain(error)) from None
    # A run that names no experiment is not a row of a table, even where it equals one.
    named = any(key_of(word) == "experiments" for word in overrides)
    experiment = _named(str(choices["experiments"])) if named else schema.CUSTOM
    config = validate({**plain, "experiment": experiment})
    return replace(
        config,
        model=matched(config.model, config.tokenizer.vocabulary),
        tracking=_grouped(config.tracking, choices.get("sweeps")),
    )


def _grouped(tracking: schema.Tracking, sweep: str | None) -> schema.Tracking:
    """The tracker with the sweep's name as its group, where it has groups and the user named none."""
    if isinstance(tracking, schema.WandbTracking) and tracking.group is None and sweep:
        return replace(tracking, group=sweep)
    return tracking


def _named(experiment: str) -> str:
    """The experiment as a folder below `runs_dir`: in the one way to write it, and inside.

    Hydra finds the file by `./table3/base`, `table3/base.yaml` or a way through other folders as well.
    """
    path = PurePosixPath(experiment)
    if str(path) != experiment or path.is_absolute() or ".." in path.parts or path.suffix == ".yaml":
        raise UserError(_no_such_choice(f"experiments/{experiment}"))
    return experiment


def _job(composed: DictConfig, overrides: list[str]) -> Job:
    config = from_hydra(composed, composed.hydra.runtime.choices, overrides)
    written = OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"])
    return Job(tuple(overrides), config, written)


def _points(master: DictConfig, overrides: list[str]) -> list[list[str]]:
    """The overrides of each job, as Hydra's basic sweeper makes them from sweep file and command."""
    params = OmegaConf.select(master, "hydra.sweeper.params") or {}
    words = [f"{key}={value}" for key, value in params.items()] + overrides
    parsed = OverridesParser.create().parse_overrides(words)
    if not _by_list(master.hydra):
        return corners(parsed)
    (points,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    return [list(point) for point in points]


def _by_list(hydra: DictConfig) -> bool:
    """Whether the sweeper runs every combination, known beforehand."""
    return str(hydra.sweeper._target_).endswith("BasicSweeper")


# Engines and searches that are packages of their own, and the extra that installs each.
_EXTRAS = {"ray": "ray", "submitit": "slurm", "optuna": "search"}


def _no_such_choice(path: str, config_dir: Path | None = None) -> str:
    """What to choose instead, for `experiments/table3/A_h3` and the like, from the files there are."""
    path += "''" if path.endswith("/") else ""  # `data=`
    for package, extra in _EXTRAS.items():
        if path.startswith(("hydra/launcher/", "hydra/sweeper/")) and package in path:
            return f"{path}: is not installed; pip install 'xformer[{extra}]' (docs/engines.md)"
    parts = PurePosixPath(path)
    if parts.parts[0] == "hydra":  # those of its plugins are no files of ours
        known = GlobalHydra.instance().config_loader().get_group_options(str(parts.parent))
        return f"{parts.parent}={parts.name}: no such choice; there are: {', '.join(known)}"
    groups = [each for each in parts.parents if each.name]
    if parts.parts[0] in ("experiments", "sweeps"):  # which have sub-folders
        groups = groups[-1:]
    roots = [config_root() / "conf", config_root(), *([config_dir] if config_dir else [])]
    for group in groups:
        found = {
            file.relative_to(root / group).with_suffix("").as_posix()
            for root in roots
            for file in (root / group).rglob("*.yaml")
        }
        if options := sorted(found):
            name = str(parts.relative_to(group))
            near = difflib.get_close_matches(name, options, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            return f"{group}={name}: no such choice; {hint}there are: {', '.join(options)}"
    return f"{path}: no such group"


def _explain(error: Exception, config_dir: Path | None = None) -> str:
    """One plain message for what Hydra and OmegaConf found wrong."""
    text = str(error).strip()
    key = getattr(error, "full_key", None)
    if found := re.search(r"Could not (?:override|append to config)[^']*'([^']+)'", text):
        return unknown(found[1])
    if "Missing mandatory value" in text and key:
        return f"{key}: is missing; give {key}=VALUE"
    if found := re.search(r"Could not (?:find|load) '([^']+)'", text):
        return _no_such_choice(found[1], config_dir)
    if "args_no_hyphens" in text:
        return "sweeps=wandb: is led by wandb's server; start it with wandb sweep sweeps/wandb.yaml"
    if text.startswith("Ambiguous value"):
        return f"{text.splitlines()[0]}: several values; add -m for one run each, or quote the value"
    if isinstance(error, OverrideParseException):
        lines = text.splitlines()
        why = lines[lines[0].startswith("Error parsing override")]
        odd = "brackets, = or letters beyond a to z"
        return f"'{error.override}': write KEY=VALUE, or \"KEY='VALUE'\" where it holds {odd} ({why})"
    if key and (group := re.match(r"hydra\.runtime\.choices\.(\w+)$", key)):
        return f"{group[1]}: takes the name of one choice, not a list; for one run each, -m {group[1]}=A,B"
    first = text.splitlines()[0] if text else type(error).__name__
    return f"{key}: {first}" if key else first
