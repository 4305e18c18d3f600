"""An installed xformer finds its configurations as the repository does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.system.commands import REPOSITORY, environment


def test_a_wheel_brings_its_configurations_along(tmp_path: Path) -> None:
    python = [sys.executable, "-m"]
    built = subprocess.run(
        [*python, "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", REPOSITORY],
        capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    installed = tmp_path / "installed"
    subprocess.run(
        [*python, "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", installed, wheel],
        check=True,
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    ended = subprocess.run(
        [installed / "bin" / "xformer", "inspect", "experiments=table3/base", "--json"],
        cwd=empty, env=environment(PYTHONPATH=str(installed)), capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["layers"] == 3
    where = subprocess.run(
        [sys.executable, "-c", "import xformer; print(xformer.__file__)"],
        cwd=empty, env=environment(PYTHONPATH=str(installed)), capture_output=True, text=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(installed))
    assert list(empty.iterdir()) == []
