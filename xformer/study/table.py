"""From runs to tables: one for each setting, one row for each thing compared, seeds pooled within a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev

from xformer.config.schema import BASE
from xformer.study.paper import PaperRow, paper_rows
from xformer.study.records import ConfigFile, ResultFile
from xformer.study.run import Run
from xformer.study.setting import Setting

_SCALES = ("paper", "small", "mini", "tiny")


@dataclass(frozen=True)
class Summary:
    """The mean over seeds, and their standard deviation (n - 1) where there are at least two."""

    mean: float
    deviation: float | None
    seeds: int


@dataclass(frozen=True)
class Row:
    """All runs that differ in nothing but the seed; none at all where the paper's row was not run.

    `overrides` leave out those that all rows of the table have in common, `shared`. `paper` is set where the
    row is the paper's own, with nothing else overridden.
    """

    experiment: str
    overrides: tuple[str, ...]
    row_hash: str | None
    runs: tuple[Run, ...]
    paper: PaperRow | None
    twin: bool = (
        False  # another row has this experiment and these overrides, so the hash must tell them apart
    )
    shared: tuple[str, ...] = ()
    is_base: bool = False  # all others of the table are compared with it

    def is_called(self, words: Collection[str]) -> bool:
        """Whether an experiment and overrides, with or without those that all rows share, mean this row."""
        return {self.experiment, *self.overrides} == set(words).difference(self.shared)

    @property
    def label(self) -> str:
        """The row's name, the paper's where it has one, and what was overridden."""
        words = (self.experiment.removeprefix("table3/"), *self.overrides)
        return " ".join((*words, f"#{self.row_hash[:8]}") if self.twin and self.row_hash else words)

    @cached_property
    def finished(self) -> tuple[Run, ...]:
        """The finished runs, one a seed: a copied folder is not a second seed."""
        by_seed: dict[int | None, Run] = {}
        for run in self.runs:
            if run.state == "finished":
                by_seed.setdefault(run.seed, run)
        return tuple(by_seed.values())

    @property
    def copies(self) -> tuple[Run, ...]:
        """Finished runs left out because another has their seed."""
        return tuple(run for run in self.runs if run.state == "finished" and run not in self.finished)

    @property
    def config(self) -> ConfigFile | None:
        """The resolved configuration, of any run that could be read; they differ in the seed only."""
        return next((run.config for run in self.runs if run.config), None)

    @property
    def state(self) -> str:
        """`finished`, `running 120/400`, `2 finished, 1 diverged`, or `missing`."""
        if not self.runs:
            return "missing"
        states = Counter(run.state for run in self.runs if run not in self.copies)
        if states.total() > 1:
            return ", ".join(f"{number} {state}" for state, number in states.items())
        (run,) = (run for run in self.runs if run not in self.copies)
        status = run.status
        if run.state == "running" and status and status.updates is not None and status.updates_planned:
            return f"running {status.updates}/{status.updates_planned}"
        return run.state

    @property
    def partly_diverged(self) -> str:
        """`2 of 3 diverged`, where others finished, whose figures flatter the row; else empty."""
        lost = sum(run.state == "diverged" for run in self.runs)
        return f"{lost} of {lost + len(self.finished)} diverged" if lost and self.finished else ""

    def over_seeds(self, figure: Callable[[ResultFile], float | None]) -> Summary | None:
        """Summarise a figure of the finished runs; None without one."""
        values = [value for run in self.finished if run.result and (value := figure(run.result)) is not None]
        if not values:
            return None
        return Summary(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    def figure(self, figure: Callable[[ResultFile], float | None]) -> float | None:
        """A figure that does not depend on the seed, from any readable result, finished or not."""
        values = (figure(run.result) for run in self.runs if run.result and run.state != "unreadable")
        return next((value for value in values if value is not None), None)


@dataclass(frozen=True)
class Table:
    """Every row of one setting: Table 3 in the paper's order, then all others by name.

    `base` names the row that all others are compared with, whether it was run or not. `shared` are overrides
    of how to train that all rows have, and so a part of the setting, as the scale is.
    """

    base: str
    setting: Setting
    shared: tuple[str, ...]
    paper_block: tuple[Row, ...]
    other_block: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Both blocks."""
        return self.paper_block + self.other_block

    def lines(self) -> list[tuple[str, str]]:
        """What is printed above the table: names and values."""
        return self.setting.lines() + ([("every row with", " ".join(self.shared))] if self.shared else [])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why rows are not finished, what was left out, which paper rows ran only with overrides."""
        remarks = [
            f"{run.name}: {run.state}"
            + (f" ({run.folder.name})" if run.state == "unreadable" else "")
            + (f": {run.reason}" if run.reason else "")
            for row in self.rows
            for run in row.runs
            if run.state != "finished"
        ]
        remarks += [
            f"{run.name}: counted once; {run.folder.name} has the seed of another run"
            for row in self.rows
            for run in row.copies
        ]
        plain = {row.experiment for row in self.paper_block if row.paper}
        changed = dict.fromkeys(
            row.label.split()[0] for row in self.paper_block if row.experiment not in plain
        )
        if changed:
            remarks.append(f"run with overrides only, never as the paper has it: {', '.join(changed)}")
        return tuple(remarks)


def build_tables(runs: Sequence[Run], base: str = BASE) -> tuple[tuple[Table, ...], tuple[Run, ...]]:
    """Sort runs into tables; second, the rows that could not start and belong to no single table.

    `base` is the row that all others are compared with: an experiment, and its overrides after a space each.
    A run that ended before it knew all of its setting joins the fullest table that it does not contradict.
    """
    settings: dict[Setting, list[Run]] = {}
    unplaced = []
    for run in sorted(runs, key=lambda run: (run.state != "finished", not run.started, run.setting.unknown)):
        fitting = [setting for setting in settings if setting.fits(run.setting)]
        if run.state == "finished":
            same = next((setting for setting in settings if setting.same(run.setting)), run.setting)
            settings.setdefault(same, []).append(run)
        elif not run.started and len(fitting) != 1:
            unplaced.append(run)
        elif fitting:
            settings[max(fitting, key=lambda setting: len(settings[setting]))].append(run)
        else:
            settings[run.setting] = [run]
    tables = (_table(setting, members, base) for setting, members in settings.items())
    return tuple(sorted(tables, key=_place)), tuple(unplaced)


def _table(setting: Setting, runs: Sequence[Run], base: str) -> Table:
    order = {row.name: number for number, row in enumerate(paper_rows())}
    shared = _shared(runs)
    rows = _rows(runs, shared)
    paper_block = [row for row in rows if row.experiment in order]
    if paper_block:
        run = {row.experiment for row in paper_block}
        missing = (row for row in paper_rows() if row.name not in run)
        paper_block += [Row(row.name, (), None, (), row) for row in missing]
    paper_block.sort(key=lambda row: (order[row.experiment], row.overrides, row.row_hash or ""))
    other_block = sorted(
        (row for row in rows if row.experiment not in order),
        key=lambda row: (row.experiment, row.overrides, row.row_hash or ""),
    )
    blocks = (
        tuple(replace(row, is_base=row.is_called(base.split())) for row in block)
        for block in (paper_block, other_block)
    )
    return Table(base, setting, shared, *blocks)


# What the rows of Table 3 differ in beside the length of training.
_VARIED = ("model", "optim.label_smoothing")


def _shared(runs: Sequence[Run]) -> tuple[str, ...]:
    """The overrides that several experiments all have; those of what Table 3 varies still make other rows."""
    known = [run.overrides for run in runs if run.status or not run.started]
    if not known or len({run.experiment for run in runs}) < 2:
        return ()
    common = set(known[0]).intersection(*known[1:])
    return tuple(word for word in known[0] if word in common and not word.lstrip("+~").startswith(_VARIED))


def _rows(runs: Iterable[Run], shared: tuple[str, ...]) -> list[Row]:
    """Group by experiment and row hash; a run without a hash joins the first row of its name."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.row_hash is None, run.seed or 0, str(run.folder))):
        if run.row_hash is not None:
            groups.setdefault((run.experiment, run.row_hash), []).append(run)
        else:
            namesakes = [members for members in groups.values() if _label(members[0]) == _label(run)]
            (
                namesakes[0] if namesakes else groups.setdefault((run.experiment, str(run.overrides)), [])
            ).append(run)
    labels = Counter(_label(members[0]) for members in groups.values())
    paper = {row.name: row for row in paper_rows()}
    return [
        Row(
            experiment=first.experiment,
            overrides=overrides,
            row_hash=first.row_hash,
            runs=tuple(members),
            paper=None if overrides else paper.get(first.experiment),
            twin=labels[_label(first)] > 1,
            shared=shared,
        )
        for members in groups.values()
        for first in members[:1]
        for overrides in [tuple(word for word in first.overrides if word not in shared)]
    ]


def _label(run: Run) -> tuple[str, tuple[str, ...]]:
    return run.experiment, run.overrides


def _place(table: Table) -> tuple[int, str, str]:
    """The paper's scale first, then smaller ones, then others by name."""
    scale = table.setting.scale or ""
    return (_SCALES.index(scale) if scale in _SCALES else len(_SCALES), scale, str(table.setting.lines()))
