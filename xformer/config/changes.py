"""What an experiment changes, held against what it declares to change (docs/design.md, Fair comparison).

A row of a table compares one thing with a base. Its file names that thing in `changes`; whatever else
differs must follow from it, by interpolation or by the matching of sizes, or the row compares
something else than it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import yaml
from omegaconf import DictConfig, OmegaConf

from xformer.config import schema
from xformer.config.compose import Job, compose_job, from_hydra
from xformer.config.differences import Difference, differences, spread
from xformer.config.locations import config_root

_REFERENCE = re.compile(r"\$\{\s*(?:(width|depth|updates)\s*:|([^${}:]+)\})")


def covers(prefix: str, key: str) -> bool:
    """Whether `key` is `prefix` or lies in the group of that name."""
    return key == prefix or key.startswith(f"{prefix}.")


def source_of(key: str, changed: Iterable[str], written: DictConfig) -> str | None:
    """The changed key (or group) that the value of `key` is computed from, directly or through others."""
    changed = tuple(changed)
    seen: set[str] = set()
    waiting = [key]
    while waiting:
        for reference in _references(waiting.pop(), written):
            for each in changed:
                if covers(each, reference) or covers(reference, each):
                    return each
            if reference not in seen:
                seen.add(reference)
                waiting.append(reference)
    return None


def solved(key: str, config: schema.Config) -> bool:
    """Whether the matching of sizes found the value of `key`."""
    return key == "model.d_ff" and config.model.match != "none"


def base_of(experiment: str, config_dir: Path | None = None) -> str | None:
    """The experiment that this one is compared with: the one that its file builds on, else table3/base.

    A file builds on another by naming it first in its `defaults`, as `- modern/prenorm` or
    `- /experiments/modern/prenorm`; Hydra then composes the other before it. The base itself has none.
    """
    for folder in (config_dir, config_root()):
        path = folder / "experiments" / f"{experiment}.yaml" if folder is not None else None
        if path is None or not path.is_file():
            continue
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for entry in (content or {}).get("defaults", []):
            if isinstance(entry, str) and entry != "_self_":
                return str((PurePosixPath("/experiments") / entry).relative_to("/experiments"))
        break
    return None if experiment == schema.BASE else schema.BASE


def undeclared_changes(
    experiment: str, overrides: Sequence[str] = (), *, config_dir: Path | None = None
) -> list[Difference]:
    """What an experiment's file changes without saying so; left its base's value, right its own.

    `overrides` hold for both and are not counted: a scale, a corpus. Raises UserError where either
    cannot be composed.
    """
    base = base_of(experiment, config_dir)
    if base is None:
        return []
    ours, theirs = (
        compose_job([f"experiments={name}", *overrides], config_dir=config_dir) for name in (experiment, base)
    )
    return undeclared(ours, theirs.config)


def undeclared(job: Job, base: schema.Config) -> list[Difference]:
    """`undeclared_changes` of a configuration and its base that are composed already."""
    declared = job.config.changes
    return [
        each
        for each in differences(base, job.config)
        if not any(covers(prefix, each.key) for prefix in declared)
        and not solved(each.key, job.config)
        and source_of(each.key, declared, job.written) is None
    ]


def at_scale(job: Job, scale: str) -> Job:
    """The same configuration at another of the scales that come with xformer."""
    written = job.written.copy()
    OmegaConf.set_struct(written, False)
    written.scale = OmegaConf.load(config_root() / "conf" / "scale" / f"{scale}.yaml")
    name = job.config.experiment
    config = from_hydra(written, {"experiments": name}, [f"experiments={name}"])
    return Job(job.overrides, config, written)


def _references(key: str, written: DictConfig) -> Iterator[str]:
    """The full keys that stand in `${…}` in the value of a key, or of any key of a group."""
    parent, _, name = key.rpartition(".")
    holder = OmegaConf.select(written, parent, throw_on_resolution_failure=False) if parent else written
    if not isinstance(holder, DictConfig) or name not in holder:
        return
    content = OmegaConf.to_container(holder, resolve=False)
    assert isinstance(content, dict)
    value = content[name]
    leaves = spread(value, f"{key}.") if isinstance(value, dict) else iter([(key, value)])
    for full_key, leaf in leaves:
        for resolver, reference in _REFERENCE.findall(leaf) if isinstance(leaf, str) else ():
            yield f"scale.{resolver}" if resolver else _absolute(reference.strip(), full_key)


def _absolute(reference: str, key: str) -> str:
    """`.heads` in the value of `model.d_k` is `model.heads`; each further dot goes one group up."""
    name = reference.lstrip(".")
    up = len(reference) - len(name)
    return ".".join([*key.split(".")[:-up], name]) if up else name
