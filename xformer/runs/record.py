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
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from xformer.config.validate import in_our_words
from xformer.errors import UserError
from xformer.files import read_json, write_json
from xformer.runs.folder import RunFolder
from xformer.runs.walk import run_folders

FORMAT = "xformer run 1"
_KEPT = ("metrics.csv", "hypotheses/*.bleu.csv", "evaluations/*.json", "evaluations/**/*.bleu.csv")
# What a configuration says of places, which are the machine's.
_NOWHERE = {"runs_dir": "runs", "cache_dir": "runs/.cache", "done_dir": None, "tracking": {"kind": "none"}}
_MACHINE = ("host", "pid")  # of a status


@dataclass(frozen=True)
class _Record:
    """What a record holds beside its format: whose it is, and its files as text by their place in the run."""

    experiment: Annotated[str, Field(min_length=1)]
    run: Annotated[str, Field(min_length=1)]
    files: dict[str, str]


def record(runs_dir: Path, out: Path) -> list[Path]:
    """Write a record of each finished or diverged run below `runs_dir`; return those that are new or changed.

    A record changes when its run was scored once more. One of the same run with another result, from another
    machine say, stays as it is; such a run, and one with a damaged file, is named on standard error.
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
        if status is None or status.state not in ("finished", "diverged"):
            continue
        path = out / f"{status.experiment.replace('/', '-')}-{folder.path.name}.json"
        try:
            content = _pack(folder)
            if not _news(path, content):
                continue
        except UserError as error:
            wrong = str(error).partition("\n")[0]  # of all that is wrong with a configuration
            print(f"xformer: not recorded: {wrong}", file=sys.stderr)
            continue
        write_json(path, content)
        written.append(path)
    return written


def _news(path: Path, content: dict[str, Any]) -> bool:
    """Whether `content` says more than the record at `path`. Raises UserError where that says otherwise."""
    if not path.exists():
        return True
    kept = _read(path)
    if kept is None or kept.files.get("result.json") != content["files"].get("result.json"):
        raise UserError(
            f"{path}: is there already and holds something else; move it away, or give another --out"
        )
    return bool(kept.files != content["files"])


def _pack(folder: RunFolder) -> dict[str, Any]:
    folder.config()  # raises UserError where it is none
    config = yaml.safe_load(folder.config_file.read_text(encoding="utf-8")) | _NOWHERE
    for key in ("dir", "repository"):  # a name on a hub stays as it is
        if Path(config["data"].get(key, "")).is_absolute():
            config["data"][key] = Path(config["data"][key]).name
    status = {key: value for key, value in read_json(folder.status_file).items() if key not in _MACHINE}
    files = {"config.yaml": yaml.safe_dump(config, sort_keys=False, allow_unicode=True)}
    files["status.json"] = json.dumps(status)
    if folder.result_file.exists():
        files["result.json"] = _text(folder.result_file)
    for pattern in _KEPT:
        for path in sorted(folder.path.glob(pattern)):
            files[path.relative_to(folder.path).as_posix()] = _text(path)
    return {"format": FORMAT, "experiment": config["experiment"], "run": folder.path.name, "files": files}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text") from None


def unpacked(records: Path) -> Path:
    """A folder with a run folder for each record directly under `records`; it lasts as this process does.

    Raises UserError for a record that cannot be read, for two of one run, and for one whose files would not
    all lie in its run.
    """
    folder = Path(tempfile.mkdtemp(prefix="xformer-records-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for file, content in _records(records):
        run = folder / content.experiment / content.run
        try:
            if run.exists():
                raise UserError("another record here is of the same run; move one of them away")
            _unpack(content, run, within=folder)
        except UserError as error:
            raise UserError(f"{file}: {error}") from None
        except (OSError, ValueError) as error:  # a name of NUL, or of another file's folder
            raise UserError(f"{file}: cannot be unpacked: {error}") from None
    return folder


def _unpack(content: _Record, run: Path, within: Path) -> None:
    if within not in run.resolve().parents:
        raise UserError(f"names the run {content.experiment}/{content.run}, which is outside of all runs")
    for name, text in content.files.items():
        path = run / name
        if run.resolve() not in path.resolve().parents:
            raise UserError(f"names the file {name}, which is outside of its run")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@cache
def done(records: Path) -> dict[tuple[str, str], Path]:
    """The record of each run, by experiment and name of its folder. Raises UserError for a damaged one."""
    if not records.is_dir():
        raise UserError(f"done_dir: {records}: no such folder; give the one that `xformer record` wrote")
    return {(content.experiment, content.run): path for path, content in _records(records)}


def recorded_result(path: Path) -> Any:
    """What `result.json` said of a recorded run; None for a run that came to none.

    Raises UserError for a damaged record, ValueError where the result is not JSON.
    """
    content = _read(path)
    text = content.files.get("result.json") if content else None
    return None if text is None else json.loads(text)


def _records(folder: Path) -> Iterator[tuple[Path, _Record]]:
    """Records among the files of a folder; others are passed over. Raises UserError for a damaged one."""
    for path in sorted(folder.glob("*.json")):
        if (content := _read(path)) is not None:
            yield path, content


def _read(path: Path) -> _Record | None:
    """None where the file is of another kind. Raises UserError for a damaged one."""
    try:
        content = read_json(path)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as a record of a run: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return None
    return _checked(content, path)


def _checked(content: dict[str, Any], path: Path) -> _Record:
    try:
        return _reader().validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        what = "is missing" if first["type"].startswith("missing") else in_our_words(first["msg"])
        raise UserError(f"{path}: is no whole record of a run: {key}: {what}") from None


@cache
def _reader() -> TypeAdapter[_Record]:
    return TypeAdapter(_Record)
