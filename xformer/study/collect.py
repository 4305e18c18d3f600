"""From a folder of runs to a typed list of them; whatever the files hold, never a traceback."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from xformer.errors import UserError
from xformer.runs.folder import held
from xformer.runs.identity import telling
from xformer.runs.record import unpacked
from xformer.runs.walk import NAME, run_folders
from xformer.study import records
from xformer.study.records import ConfigFile, ResultFile, StatusFile, UnreadableError
from xformer.study.run import Run, State
from xformer.study.secrets import without_secret
from xformer.study.setting import Setting, setting_of

_File = TypeVar("_File")


def collect(runs_dir: Path) -> list[Run]:
    """Read every run under a folder, and the records of rows that could not start, in order of name and seed.

    A folder without runs may hold records of them instead (`xformer record`). Folders whose names begin
    with a dot are passed over. Raises UserError where there is no such folder.
    """
    if not runs_dir.is_dir():
        raise UserError(f"{runs_dir}: no such folder; give the folder that holds the runs")
    runs = [_read_run(folder, runs_dir) for folder in run_folders(runs_dir)]
    runs += [_read_failed(path) for path in (runs_dir / "failed").glob("[!.]*.json")]
    if not runs and any(runs_dir.glob("*.json")):
        return collect(unpacked(runs_dir))
    return sorted(runs, key=lambda run: (run.experiment, run.overrides, run.seed or 0, str(run.folder)))


def _read_run(folder: Path, root: Path) -> Run:
    problems: list[str] = []
    status = _attempt(records.read_status, folder, problems)
    config = _attempt(records.read_config, folder, problems)
    result = _attempt(records.read_result, folder, problems)
    if not problems:
        problems.extend(_contradictions(status, config, result))
    state: State = "unreadable" if problems or status is None else status.state
    reason = "; ".join(problems) or (status and status.reason) or ""
    here = status is not None and status.host == socket.gethostname()  # of other machines nothing is known
    if state == "running" and here and not held(folder):
        state, reason = "lost", "the process that ran it is no longer there"
    named = NAME.fullmatch(folder.name)
    row_hash = (status and status.row_hash) or (result and result.row_hash)
    return Run(
        folder=folder,
        experiment=_experiment(folder, root, status, config),
        seed=config.seed if config else int(named["seed"]) if named else None,
        state=state,
        reason=reason,
        overrides=tuple(map(without_secret, telling(status.overrides))) if status else (),
        row_hash=row_hash or None,
        setting=setting_of(
            config,
            result,
            scale=named["scale"] if named else None,
            data=named["data"] if named else None,
        ),
        status=status,
        config=config,
        result=result,
    )


def _attempt(read: Callable[[Path], _File | None], folder: Path, problems: list[str]) -> _File | None:
    try:
        return read(folder)
    except UnreadableError as error:
        problems.append(str(error))
        return None


def _contradictions(
    status: StatusFile | None, config: ConfigFile | None, result: ResultFile | None
) -> Iterator[str]:
    """What is wrong between files that are well formed, each for itself."""
    if status is None:
        yield "status.json is missing"
    if config is None:
        yield "config.yaml is missing"
    if status is None or config is None:
        return
    for key in ("experiment", "seed"):
        said, configured = getattr(status, key), getattr(config, key)
        if said is not None and said != configured:
            yield f"status.json has {key} {said}, config.yaml has {configured}"
    if status.state == "finished":
        if result is None:
            yield "status.json says finished, and result.json is missing"
        elif result.dev is None or result.test is None:
            yield f"result.json: {'dev' if result.dev is None else 'test'} is missing"
    if result is not None:
        for key in ("run_id", "row_hash"):
            said, got = getattr(status, key), getattr(result, key)
            if said is not None and got is not None and said != got:
                yield f"status.json has {key} {said}, result.json has {got}"


def _experiment(folder: Path, root: Path, status: StatusFile | None, config: ConfigFile | None) -> str:
    if config is not None:
        return config.experiment
    if status is not None and status.experiment:
        return status.experiment
    return folder.relative_to(root).parent.as_posix() if folder != root else folder.parent.name


def _read_failed(path: Path) -> Run:
    """A record of a row that could not start."""
    problems: list[str] = []
    failed = _attempt(records.read_failed, path, problems)
    return Run(
        folder=path,
        experiment=failed.experiment if failed else path.stem,
        seed=failed.seed if failed else None,
        state="failed" if failed else "unreadable",
        reason=failed.reason if failed else "; ".join(problems) or "gone while it was read",
        overrides=tuple(map(without_secret, telling(failed.overrides))) if failed else (),
        row_hash=None,
        setting=Setting(scale=failed.scale if failed else None),
        started=False,
    )
