"""Which source runs is told by the commit of its own repository, and of no other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from xformer.runs import machine


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With one commit."""
    (tmp_path / "file").write_text("first\n")
    who = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "file"], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_the_commit_is_that_of_the_packages_own_repository(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_PACKAGE_PARENT", repository)
    found = machine.commit()
    assert found is not None
    assert len(found) == 40
    (repository / "file").write_text("second\n")
    assert machine.commit() == f"{found}+"


def test_a_package_installed_inside_another_repository_has_no_commit(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = repository / ".venv" / "site-packages"
    installed.mkdir(parents=True)
    monkeypatch.setattr(machine, "_PACKAGE_PARENT", installed)
    assert machine.commit() is None


def test_outside_any_repository_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PACKAGE_PARENT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert machine.commit() is None
