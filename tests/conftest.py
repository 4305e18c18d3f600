"""Fixtures that several rooms share: the command `xformer`, and a run that it trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.commands import SMALL, Command, run_in


@pytest.fixture
def xformer(tmp_path: Path) -> Command:
    """`xformer`, in an empty folder of this test's own."""
    return run_in(tmp_path)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, for tests that only read it; three levels up lies its runs/."""
    folder = tmp_path_factory.mktemp("trained")
    ended = run_in(folder)("train", "experiments=table3/base", *SMALL)
    assert ended.returncode == 0, ended.stderr
    (run,) = (folder / "runs" / "table3" / "base").iterdir()
    return run
