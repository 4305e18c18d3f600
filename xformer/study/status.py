"""How every run of a folder stands: state, progress, the last sign of life, and why."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from xformer.errors import UserError
from xformer.study.run import Run
from xformer.study.text import ABSENT, age, count, plain

_ANY_WIDTH = 10_000
_STYLES = {"finished": "green", "running": "cyan", "interrupted": "yellow"}


def print_status(runs: Sequence[Run], folder: Path, console: Console | None) -> None:
    """Print the table; where no terminal bounds it, one line a run, however long. Without a console, as JSON.

    Raises UserError where there is no run.
    """
    if not runs:
        raise UserError(f"{folder}: holds no runs; `xformer train` makes one")
    if console is None:
        print(json.dumps([status_values(run) for run in runs], indent=2))
        return
    table = status_table(runs)
    if not console.is_terminal:
        unbounded = console.options.update(max_width=_ANY_WIDTH)
        console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)


def status_table(runs: Sequence[Run], now: float | None = None) -> Table:
    """One line a run, in the order given; `now` is in seconds since 1970 and by default this moment."""
    moment = time.time() if now is None else now
    table = Table(box=box.MINIMAL, show_edge=False, pad_edge=False)
    table.add_column("run", overflow="fold", min_width=24)
    table.add_column("state", no_wrap=True)
    table.add_column("updates", justify="right", no_wrap=True)
    table.add_column("seen", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for run in runs:
        table.add_row(
            Text(plain(f"{run.experiment}/{run.folder.name}" if run.started else run.name)),
            Text(run.state, style=_STYLES.get(run.state, "red")),
            _progress(run),
            _seen(run, moment),
            Text(plain(run.reason)),
        )
    return table


def status_values(run: Run) -> dict[str, Any]:
    """The same as plain values for JSON, None for what is not known; times are in seconds since 1970."""
    told = ("phase", "updates", "updates_planned", "host", "started", "updated", "ended")
    return {
        "folder": str(run.folder),
        "experiment": run.experiment,
        "overrides": list(run.overrides),
        "seed": run.seed,
        "state": run.state,
        "reason": run.reason or None,
    } | {name: getattr(run.status, name, None) for name in told}


def _progress(run: Run) -> str:
    status = run.status
    if status is None or status.updates is None:
        return ABSENT
    planned = f"/{count(status.updates_planned)}" if status.updates_planned else ""
    return f"{count(status.updates)}{planned}"


def _seen(run: Run, now: float) -> str:
    status = run.status
    times = [each for each in (status.started, status.updated, status.ended) if each] if status else []
    return f"{age(now - max(times))} ago" if times else ABSENT
