"""Fixtures that several rooms share: the command `xformer`, and a run that it trained."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.commands import SMALL, Command, Start, environment, run_in, words

# Test processes stand side by side, one a core: threads of several would only wait for one another. Read by
# torch when it is loaded, which is after this file, and by the commands that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def xformer(tmp_path: Path) -> Command:
    """`xformer`, in an empty folder of this test's own."""
    return run_in(tmp_path)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `xformer` in this test's folder and goes on; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = subprocess.Popen(
            words(*arguments), cwd=tmp_path, env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(command)
        return command

    yield begin
    for command in started:
        command.kill()  # its workers notice and end
        command.communicate()


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, for tests that only read it; three levels up lies its runs/."""
    folder = tmp_path_factory.mktemp("trained")
    ended = run_in(folder)("train", "experiments=table3/base", *SMALL)
    assert ended.returncode == 0, ended.stderr
    (run,) = (folder / "runs" / "table3" / "base").iterdir()
    return run


@pytest.fixture
def run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run that a test may change, its runs/ in the working folder."""
    shutil.copytree(trained.parents[2], tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return Path("runs") / trained.relative_to(trained.parents[2])
