"""`xformer dashboard`: the report's panels on Weights & Biases, and runs recorded offline sent there.

Nothing is asked, and without a login nothing is sent: the specification is written instead.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from xformer.dashboard.offline import offline_records, send, sync_command
from xformer.dashboard.panels import sections
from xformer.errors import UserError
from xformer.files import write_json, written
from xformer.runs.wandb_login import has_login
from xformer.study.markdown import report_markdown
from xformer.study.report import Report, build_report
from xformer.study.run import Run
from xformer.wording import counted

FILE = "dashboard.json"
PROJECT = "xformer"


@dataclass(frozen=True)
class Target:
    """Where on Weights & Biases; no entity is the login's own."""

    project: str
    entity: str | None


def dashboard(folder: Path, project: str | None, entity: str | None, out: Path | None) -> None:
    """Write the specification of a folder's dashboard, and send all where there is a login.

    Raises UserError where the folder holds no runs, the extra is not installed, the file cannot be written,
    or what was sent is refused.
    """
    made = build_report(folder)
    target = _target(made.runs, project, entity)
    _check_installed()
    path = out or folder / FILE
    records = offline_records(made.runs)
    login = has_login()
    if login:
        target = Target(target.project, target.entity or _own_entity())
    space, page = _views(made, folder, target)
    from xformer.dashboard.views import specification

    with written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"project": target.project, "entity": target.entity, **specification(space, page)})
    print(f"Written: {path}")
    if not login:
        print(_how_to_send(folder, target, records))
        return
    if records:
        send(records, target.project, target.entity)
        print(f"Sent: {counted(len(records), 'run')} recorded offline")
    _save(space, page)


def _target(runs: Sequence[Run], project: str | None, entity: str | None) -> Target:
    """What was asked for, else what the runs were tracked under, else the default."""
    tracked = next((found for run in runs if (found := _tracked(run))), {})
    said = entity or tracked.get("entity")
    return Target(project or str(tracked.get("project") or PROJECT), str(said) if said else None)


def _tracked(run: Run) -> dict[str, Any]:
    try:
        values = yaml.safe_load((run.folder / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    tracking = values.get("tracking") if isinstance(values, dict) else None
    return tracking if isinstance(tracking, dict) and tracking.get("kind") == "wandb" else {}


def _check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("wandb_workspaces") is None:
        raise UserError("a dashboard needs the package wandb-workspaces: pip install 'xformer[dashboard]'")


def _views(made: Report, folder: Path, target: Target) -> tuple[Any, Any]:
    from xformer.dashboard.views import Chosen, report, workspace

    chosen = Chosen(
        tuple(dict.fromkeys(run.experiment for run in made.runs if run.started)),
        tuple(dict.fromkeys(run.setting.scale for run in made.runs if run.started and run.setting.scale)),
    )
    name = f"xformer {folder.resolve().name}"
    text = report_markdown(made.tables, made.unplaced, made.verdict, made.findings)
    where = target.entity or "", target.project
    return workspace(name, *where, sections(), chosen), report(name, *where, sections(), chosen, text)


def _own_entity() -> str:
    import wandb

    try:
        entity = wandb.Api(timeout=20).default_entity
    except Exception as error:  # of the library, of requests, of its server: there is no common class
        raise _refused(error) from None
    if not entity:
        raise UserError("this login of Weights & Biases has no entity of its own; name one with --entity")
    return str(entity)


def _save(space: Any, page: Any) -> None:
    try:
        page.save()  # first, since it makes the project where there is none
        space.save()
    except Exception as error:  # as above
        raise _refused(error) from None
    print(f"Report: {page.url}")
    print(f"Workspace: {space.url}")


def _refused(error: Exception) -> UserError:
    said = str(error).strip().splitlines()
    return UserError(
        f"Weights & Biases refused or could not be reached: {said[0] if said else type(error).__name__}"
    )


def _how_to_send(folder: Path, target: Target, records: Sequence[Path]) -> str:
    again = ["xformer", "dashboard", str(folder), "--project", target.project]
    again += ["--entity", target.entity] if target.entity else []
    lines = [
        "No login of Weights & Biases was found, so nothing was sent.",
        "To send it: set WANDB_API_KEY or run `wandb login`, then",
        f"  {shlex.join(again)}",
    ]
    if records:
        lines += [
            f"which sends {counted(len(records), 'run')} recorded offline too. To send only these:",
            f"  {shlex.join(sync_command(records[:1], target.project, target.entity))}"
            + (" …" if len(records) > 1 else ""),
        ]
    return "\n".join(lines)
