"""`xformer train --dry-run`: every run of a command, its folder, and what is still to be done of it."""

from __future__ import annotations

import sys
from collections import Counter

from xformer.config.compose import Job, Plan
from xformer.errors import UserError
from xformer.runs.due import Due, due, place, recorded
from xformer.runs.outcome import FAILED, FINE, WRONG
from xformer.wording import counted

_WORDS: dict[Due, str] = {"train": "train", "go on": "go on", "score": "score again", "nothing": "nothing"}


def dry_run(planned: Plan) -> int:
    """Print a line for each run, in order, and train nothing; returns the exit code.

    Corpora are prepared, since a run is known by their content; a mistake in one counts as in training.
    """
    if planned.search:
        print("a search: each run follows from the ones before; what it may try was checked", file=sys.stderr)
        return FINE
    counts: Counter[str] = Counter()
    for job in planned.jobs:
        word, rest = _told(job)
        counts[word] += 1
        print(f"{word:11} {job.config.experiment} seed {job.config.seed}{rest}", flush=True)
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    print(f"{counted(len(planned.jobs), 'run')}: {said}; nothing was started", file=sys.stderr)
    if not counts["wrong"]:
        return FINE
    return FAILED if planned.sweep else WRONG


def _told(job: Job) -> tuple[str, str]:
    """What is to be done of a run, and where, or why nothing is."""
    config = job.config
    try:
        identity, folder = place(config)
        if kept := recorded(config, identity):
            return _WORDS["nothing"], f": done, see {kept}"
    except UserError as error:
        return "wrong", f": {error}"
    status = folder.status()
    wanted = due(config, folder, status)
    told = ""
    if status is not None:
        at = f", update {status.updates:,} of {config.trainer.updates:,}" if wanted == "go on" else ""
        told = f" ({status.state}{at})"
    return _WORDS[wanted], f"  {folder.path}{told}"
