"""The command that trains a run again, as it would be typed into a shell."""

from __future__ import annotations

import shlex

from xformer.config.schema import CUSTOM
from xformer.study.run import Run
from xformer.study.secrets import without_secret
from xformer.study.text import plain


def command_of(run: Run) -> str:
    """`xformer train experiments=… scale=… seed=… KEY=VALUE`, quoted for a POSIX shell.

    Where the text lies is left as `data.dir=DIR`, since it differs between machines. Of a run that did not
    keep its words they are put together from what it is.
    """
    words = list(map(without_secret, run.status.words)) if run.status else []
    return " ".join(shlex.quote(plain(word)) for word in ("xformer", "train", *(words or _gathered(run))))


def _gathered(run: Run) -> list[str]:
    words = []
    if run.experiment != CUSTOM:
        words.append(f"experiments={run.experiment}")
    if run.setting.scale:
        words.append(f"scale={run.setting.scale}")
    if run.seed is not None:
        words.append(f"seed={run.seed}")
    if run.config is not None and run.config.data.get("kind") == "files":
        words += ["data=files", "data.dir=DIR"]
        words += [
            f"data.{key}={run.config.data[key]}" for key in ("source", "target") if key in run.config.data
        ]
    return [*words, *run.overrides]
