"""`xformer average`: the mean of a run's last checkpoints as a run folder of its own.

The folder has what every command asks of a run: configuration, tokenizer, status, one checkpoint, and, where
the run that it comes from had been scored, scores of its own. Its configuration says `decode.average: N`,
so that reports keep it apart from runs that were not averaged. It cannot be trained on.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from xformer.config import schema, splits
from xformer.data.prepare import prepare
from xformer.errors import UserError
from xformer.files import read_json, write_atomic, write_json, written
from xformer.runs.evaluation import Evaluation, score_split
from xformer.runs.folder import BusyError, RunFolder
from xformer.runs.identity import decoding_hash, decoding_settings
from xformer.runs.trained import AVERAGED, Trained, default_device, load, same_tokenizer
from xformer.training import checkpoints

MARK = "averaged.json"  # tells an average's folder from all others, also one that was left half-made


def average(options: argparse.Namespace) -> int:
    """Average, then score as at the end of training; the same command again finds it done."""
    run = RunFolder(options.folder)
    paths = checkpoints.last_checkpoints(run.checkpoints, options.last)
    config = run.config()
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    decode = dataclasses.replace(config.decode, average=len(paths))
    made = Average(run, RunFolder(options.out or _beside(run.path, len(paths))), paths)
    made.refuse_others()
    try:
        with written(made.out.path), made.out.claim():
            made.write(dataclasses.replace(config, decode=decode))
            made.score()
    except BusyError as error:
        raise UserError(str(error)) from None
    print(made.out.path)
    return 0


def _beside(run: Path, count: int) -> Path:
    run = run.resolve() if run.name in ("", "..") else run
    return run.with_name(f"{run.name}-average{count}")


@dataclass(frozen=True)
class Average:
    """The mean of some checkpoints of `run`, in the folder `out`."""

    run: RunFolder
    out: RunFolder
    paths: list[Path]

    @property
    def origin(self) -> dict[str, Any]:
        """What it is the mean of; the same again, and it need not be made again."""
        status = self.run.status()
        return {
            "of": status.run_id if status else self.run.path.resolve().name,
            AVERAGED: [checkpoints.update_of(path) for path in self.paths],
        }

    def refuse_others(self) -> None:
        """Raise UserError rather than average an average, or write over anything but this average."""
        if (self.run.path / MARK).exists():
            raise UserError(f"{self.run.path}: is an average already; average the run that it was made from")
        out = self.out.path
        if out.exists() and not out.is_dir():
            raise UserError(f"{out}: is a file; give a folder with --out")
        names = {path.name for path in out.iterdir()} - {".lock"} if out.exists() else set()
        if names and (_mark(out) or {}).get("of") != self.origin["of"]:
            raise UserError(f"{out}: holds something else; give another folder with --out")

    def write(self, config: schema.Config) -> None:
        """Make the folder, unless it is there and up to date."""
        (newest,) = self.paths[-1:]
        heading = checkpoints.read_checkpoint(newest)[checkpoints.HEADER] | self.origin
        path = checkpoints.path_of(self.out.checkpoints, checkpoints.update_of(newest))
        there = checkpoints.list_checkpoints(self.out.checkpoints)
        if there == [path] and _mark(self.out.path) == self.origin:
            checkpoints.read_checkpoint(path)  # torn, it says so
            return
        self.out.checkpoints.mkdir(exist_ok=True)
        write_json(self.out.path / MARK, self.origin)
        for stale in [self.out.result_file, *checkpoints.list_checkpoints(self.out.checkpoints)]:
            stale.unlink(missing_ok=True)
        write_atomic(self.out.tokenizer, self.run.tokenizer.read_bytes())
        self.out.freeze(config)
        self._write_status("interrupted", "averaged, not scored")
        checkpoints.write_weights(path, checkpoints.average(self.paths), heading)

    def score(self) -> None:
        """Score dev and test, unless that was done, or the run itself has no scores to set against them."""
        before = self.run.result()
        if before is None:
            self._write_status("interrupted", "the run that it was averaged from is not finished")
            return
        status = self.out.status()
        if self.out.result() is not None and status is not None and status.state == "finished":
            return
        trained = load(self.out, device=default_device())
        try:
            scored = _scores(trained)
        except UserError as error:
            print(f"xformer: averaged, but not scored: {error}", file=sys.stderr)
            return
        write_json(
            self.out.result_file,
            before
            | {
                "run_id": self._run_id,
                "averaged_checkpoints": len(self.paths),
                "averaged_updates": self.origin[AVERAGED],
                "decode": decoding_settings(trained.config.decode),
                "decoding_hash": decoding_hash(trained.config.decode),
            }
            | {name: evaluation.summary() for name, evaluation in scored.items()},
        )
        self._write_status("finished", None)

    @property
    def _run_id(self) -> str:
        return f"{self.origin['of']}-average{len(self.paths)}"

    def _write_status(self, state: Any, reason: str | None) -> None:
        status = self.run.status()
        if status is not None:  # without one, reports call the run itself unreadable
            self.out.write_status(status, state=state, reason=reason, run_id=self._run_id, phase="ended")


def _mark(folder: Path) -> dict[str, Any] | None:
    try:
        mark = read_json(folder / MARK)
    except (OSError, ValueError):
        return None
    return mark if isinstance(mark, dict) else None


def _scores(trained: Trained) -> dict[str, Evaluation]:
    prepared = prepare(trained.config)
    same_tokenizer(trained, prepared)
    scored = {}
    for name, split in splits.SCORED.items():
        with tqdm(desc=f"translate {split}", unit=" lines", leave=False, disable=None) as bar:
            scored[name] = score_split(trained, prepared, split, bar.update)
    return scored
