"""Without a C++ compiler everything still trains."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.system.commands import SMALL, Command


def test_a_run_that_asks_for_compiling_trains_without_a_compiler_and_says_so_once(
    xformer: Command, tmp_path: Path
) -> None:
    bare = {
        "CXX": "/nonexistent",
        "PATH": str(Path(sys.executable).parent),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
    }
    ended = xformer("train", *SMALL, "trainer.compile=on", **bare)
    assert ended.returncode == 0, ended.stderr
    (log,) = tmp_path.glob("runs/custom/*/log.txt")
    assert sum("compiler" in line for line in log.read_text().splitlines()) == 1
