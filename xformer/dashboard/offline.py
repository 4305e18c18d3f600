"""Runs that Weights & Biases recorded without a connection, and how they are sent."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from xformer.errors import UserError
from xformer.study.run import Run
from xformer.wording import counted


def offline_records(runs: Sequence[Run]) -> list[Path]:
    """The folders of records that were not sent yet, the oldest of a run first."""
    found = [
        record
        for run in runs
        if run.started
        for record in sorted(run.folder.glob("tracking/wandb/offline-run-*"))
    ]
    return [record for record in found if any(record.glob("*.wandb")) and not _sent(record)]


def _sent(record: Path) -> bool:
    """The library's own mark, which it leaves when the server has everything."""
    return any(record.glob("*.wandb.synced"))


def sync_command(records: Sequence[Path], project: str, entity: str | None) -> list[str]:
    """What sends them, as one would type it."""
    words = ["wandb", "sync", "--yes", "--project", project, *(("--entity", entity) if entity else ())]
    return [*words, *map(str, records)]


def send(records: Sequence[Path], project: str, entity: str | None) -> None:
    """Send records with the library's own command. Raises UserError with what it says."""
    command = [sys.executable, "-m", *sync_command(records, project, entity)]
    with tempfile.TemporaryDirectory() as place:  # it would leave its logs in the user's folder
        ended = subprocess.run(
            command, env=os.environ | {"WANDB_DIR": place}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    left = [record for record in records if not _sent(record)]
    if ended.returncode or left:  # it ends with 0 where the server refuses, too
        said = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
        wrong = next(
            (line for line in said if "error" in line.lower()), said[-1] if said else "it said nothing"
        )
        raise UserError(
            f"{len(left)} of {counted(len(records), 'run')} recorded offline could not be sent: "
            f"{wrong.strip()}"
        )
