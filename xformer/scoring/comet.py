"""COMET, a trained metric (Rei et al. 2022), by the program `comet-score`.

In an environment of its own: its package unbabel-comet needs older versions of NumPy and protobuf than other
parts of xformer can do with. Its model weighs over two gigabytes and is never fetched from here; it comes as
a checkpoint that runs code when it is loaded, in that program and not in this one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from xformer.errors import UserError

MODEL = "Unbabel/wmt22-comet-da"
_PROGRAM = "comet-score"
_GET = f"{_PROGRAM} -s SOURCE -t TRANSLATION -r REFERENCE --model {MODEL}"


def check_available() -> None:
    """Raise UserError where the program cannot be found."""
    if shutil.which(_PROGRAM) is None:
        raise UserError(
            f"--metric comet needs the program {_PROGRAM}, which is not on the PATH. Install it beside "
            "xformer, not into it, since it needs older versions of libraries: pipx install unbabel-comet"
        )


def comet(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], *, gpu: bool = False
) -> float:
    """The mean over lines of the model's score, about 0 to 1, the higher the better.

    Raises UserError where the program or its model cannot be had.
    """
    check_available()
    with tempfile.TemporaryDirectory(prefix="xformer-comet-") as name:
        folder = Path(name)
        for file, lines in (("source", sources), ("translation", hypotheses), ("reference", references)):
            text = "".join(f"{line}\n" for line in lines)
            (folder / file).write_text(text, encoding="utf-8")
        command = [_PROGRAM, "-s", "source", "-t", "translation", "-r", "reference", "--model", MODEL]
        command += ["--gpus", "1" if gpu else "0", "--quiet", "--only_system", "--to_json", "scores.json"]
        offline = os.environ | {"HF_HUB_OFFLINE": "1"}  # gigabytes are not fetched unasked
        ended = subprocess.run(command, cwd=folder, env=offline, capture_output=True, text=True, check=False)
        try:
            values = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
            scores = [float(line["COMET"]) for line in values["translation"]]
        except (OSError, ValueError, KeyError, TypeError):
            raise UserError(_failed(ended)) from None
    if len(scores) != len(hypotheses):
        raise UserError(f"{_PROGRAM} scored {len(scores)} lines of {len(hypotheses)}")
    return sum(scores) / len(scores)


def _failed(ended: subprocess.CompletedProcess[str]) -> str:
    said = (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode} and without scores"])[-1]
    return (
        f"COMET cannot be had: {_PROGRAM} says: {said}\n"
        f"Where its model {MODEL} is missing, fetch it once, with a network, by scoring any files: {_GET}"
    )
