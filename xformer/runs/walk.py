"""Which folders below one are run folders, also where a run never got to write its files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_FILES = {"config.yaml", "status.json", "result.json"}
NAME = re.compile(r"(?P<scale>[^-]+)-(?P<data>.+)-s(?P<seed>\d+)-[0-9a-f]{8}")


def run_folders(root: Path) -> Iterator[Path]:
    """Every run folder below `root`, known by its files or its name; hidden folders are passed over."""
    for place, folders, files in os.walk(root):
        if _FILES.intersection(files):
            yield Path(place)
            folders.clear()  # a run folder holds no other
        runs = [name for name in folders if NAME.fullmatch(name)]
        yield from (Path(place, name) for name in runs)
        folders[:] = [name for name in folders if name not in runs and not name.startswith(".")]
