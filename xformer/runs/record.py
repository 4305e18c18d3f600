"""A finished run in one small file that can be kept, or published, when its folder is not.

It holds what the study reads: configuration, state, result, learning curve, and the counts that sentence
BLEU is made of; no text, no weights, nothing of the machine's folders. `xformer record RUNS --out DIR` writes
one for each run, `xformer report DIR` reads them as it reads run folders, and with `done_dir=DIR` a sweep
counts them as done.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from xformer.errors import UserError
from xformer.files import read_json, write_json
from xformer.runs.folder import RunFolder
from xformer.runs.walk import run_folders

FORMAT = "xformer run 1"
_KEPT = ("metrics.csv", "hypotheses/*.bleu.csv", "evaluations/*.json", "evaluations/**/*.bleu.csv")
# What a configuration says of places, which are the machine's.
_NOWHERE = {"runs_dir": "runs", "cache_dir": "runs/.cache", "done_dir": None, "tracking": {"kind": "none"}}
_MACHINE = ("host", "pid")  # of a status


def record(runs_dir: Path, out: Path) -> list[Path]:
    """Write a record of each finished or diverged run below `runs_dir` that `out` lacks; return the new.

    Raises UserError where there is no such folder, or `out` cannot be written.
    """
    if not runs_dir.is_dir():
        raise UserError(f"{runs_dir}: no such folder; give the folder that holds the runs")
    try:
        return _written(runs_dir, out)
    except OSError as error:
        where = error.filename or out
        raise UserError(f"--out {out}: cannot record {where}: {error.strerror or error}") from None


def _written(runs_dir: Path, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for folder in map(RunFolder, sorted(run_folders(runs_dir))):
        status = folder.status()
        if status is None or status.state not in ("finished", "diverged") or not folder.config_file.exists():
            continue
        path = out / f"{status.experiment.replace('/', '-')}-{folder.path.name}.json"
        if not path.exists():
            write_json(path, _pack(folder))
            written.append(path)
    return written


def _pack(folder: RunFolder) -> dict[str, Any]:
    config = yaml.safe_load(folder.config_file.read_text(encoding="utf-8")) | _NOWHERE
    for key in ("dir", "repository"):  # a name on a hub stays as it is
        if Path(config["data"].get(key, "")).is_absolute():
            config["data"][key] = Path(config["data"][key]).name
    status = {key: value for key, value in read_json(folder.status_file).items() if key not in _MACHINE}
    files = {"config.yaml": yaml.safe_dump(config, sort_keys=False, allow_unicode=True)}
    files["status.json"] = json.dumps(status)
    if folder.result_file.exists():
        files["result.json"] = folder.result_file.read_text(encoding="utf-8")
    for pattern in _KEPT:
        for path in sorted(folder.path.glob(pattern)):
            files[path.relative_to(folder.path).as_posix()] = path.read_text(encoding="utf-8")
    return {"format": FORMAT, "experiment": config["experiment"], "run": folder.path.name, "files": files}


def unpacked(records: Path) -> Path:
    """A folder with a run folder for each record directly under `records`; it lasts as this process does."""
    folder = Path(tempfile.mkdtemp(prefix="xformer-records-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for _, content in _records(records):
        run = folder / content["experiment"] / content["run"]
        for name, text in content["files"].items():
            path = run / name
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UserError(f"{records}: a record names the file {name}, which is outside of its run")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return folder


@cache
def done(records: Path) -> dict[str, Path]:
    """The record of each run, by the name of its folder. Raises UserError for what cannot be read."""
    if not records.is_dir():
        raise UserError(f"done_dir: {records}: no such folder; give the one that `xformer record` wrote")
    return {content["run"]: path for path, content in _records(records)}


def _records(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Records among the files of a folder; others are passed over."""
    for path in sorted(folder.glob("*.json")):
        try:
            content = read_json(path)
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot be read as a record of a run: {error}") from None
        if isinstance(content, dict) and content.get("format") == FORMAT:
            yield path, content
