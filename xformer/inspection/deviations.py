"""Where a configuration leaves the paper, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xformer.config import schema
from xformer.config.changes import at_scale, base_of, covers, solved, source_of, undeclared
from xformer.config.compose import Job, compose_job
from xformer.config.differences import ABSENT, Difference, leaves
from xformer.config.keys import key_of
from xformer.inspection.paper import knowledge

SCALE = "paper"


@dataclass(frozen=True)
class Deviation:
    """A key with its value here, the same configuration's at scale=paper, and the paper's.

    open: the paper does not say; `paper` is then what the base row takes.
    """

    key: str
    here: Any
    at_paper_scale: Any
    paper: Any
    causes: tuple[str, ...]
    reason: str
    section: str
    open: bool


@dataclass(frozen=True)
class LeftOpen:
    """What the paper does not say, and how it is here."""

    what: str
    here: Any
    reason: str
    section: str


def deviations(job: Job, misdeclared: Sequence[Difference] = ()) -> list[Deviation]:
    """Every compared key that differs from the paper, here or at the paper's scale, in the schema's order.

    misdeclared: what the experiment changes without declaring it.
    """
    known, paper, full = knowledge(), paper_config(), at_scale(job, SCALE).config
    ours, theirs, unscaled = (dict(leaves(config)) for config in (job.config, paper, full))
    found = []
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        here, there, between = (values.get(key, ABSENT) for values in (ours, theirs, unscaled))
        if not known.compares(key) or here == there == between:
            continue
        causes = [f"scale={job.config.scale.name}"] if here != between else []
        if between != there:
            causes.append(_cause(key, job, misdeclared, exists=key in ours))
        reason = known.reason(key, here)
        found.append(
            Deviation(
                key, here, between, there, tuple(causes),
                reason=reason.reason if reason else "", section=reason.section if reason else "",
                open=any(each.key == key for each in known.open),
            )
        )  # fmt: skip
    return found


def left_open(config: schema.Config) -> list[LeftOpen]:
    """What the paper does not say; keys that this configuration has no use for are passed over."""
    values = dict(leaves(config))
    found = []
    for each in knowledge().open:
        if each.key is None:
            found.append(LeftOpen(each.what or "", each.here, each.reason, each.section))
        elif each.key in values:
            found.append(LeftOpen(each.key, values[each.key], each.reason, each.section))
    return found


def misdeclared(job: Job, config_dir: Path | None = None) -> list[Difference]:
    """What the experiment's file changes without declaring it, under the other overrides of the command."""
    experiment = job.config.experiment
    if experiment == schema.CUSTOM or (base := base_of(experiment, config_dir)) is None:
        return []
    others = [word for word in job.overrides if key_of(word) != "experiments"]
    if base == schema.BASE and config_dir is None and all(key_of(word) == "scale" for word in others):
        return undeclared(job, at_scale(_base(), job.config.scale.name).config)  # composing takes longer
    theirs = compose_job([f"experiments={base}", *others], config_dir=config_dir)
    return undeclared(job, theirs.config)


def paper_config() -> schema.Config:
    """The paper's base model, optimizer and decoding at the paper's own sizes."""
    return at_scale(_base(), SCALE).config


@cache
def _base() -> Job:
    return compose_job([f"experiments={schema.BASE}"])


def _cause(key: str, job: Job, misdeclared: Sequence[Difference], *, exists: bool) -> str:
    """What made the value another than the paper's, the scale aside."""
    experiment = job.config.experiment
    typed = [key_of(word).replace("/", ".") for word in job.overrides]
    typed = [each for each in typed if each not in ("experiments", "scale", "seed")]
    if any(covers(each, key) for each in typed):
        return "set on the command line"
    if any(covers(each, key) for each in job.config.changes):
        return f"{experiment} changes it"
    if any(each.key == key for each in misdeclared):
        return f"{experiment} changes it WITHOUT DECLARING IT"
    if solved(key, job.config):
        return "solved by model.match"
    if exists and (source := source_of(key, (*typed, *job.config.changes), job.written)):
        return f"follows {source}"
    return "a choice of its group, or the base of the experiment, changes it"
