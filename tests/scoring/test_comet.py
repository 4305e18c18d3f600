"""COMET through its own program: here one that stands in for it, since the real one needs gigabytes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xformer import cli
from xformer.errors import UserError
from xformer.scoring.comet import MODEL, comet

# Takes the real program's options and writes its format; a line's score is the length of its translation.
SCORES = """
import json, os
value = lambda name: sys.argv[sys.argv.index(name) + 1]
assert value("--model") == "Unbabel/wmt22-comet-da" and os.environ["HF_HUB_OFFLINE"] == "1"
sides = [open(value(name), encoding="utf-8").read().splitlines() for name in ("-s", "-t", "-r")]
lines = [{"src": s, "mt": t, "ref": r, "COMET": len(t) / 10} for s, t, r in zip(*sides, strict=True)]
json.dump({value("-t"): lines}, open(value("--to_json"), "w"))
"""

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a program of that name on the PATH, and no other."""

    def write(code: str) -> None:
        program = tmp_path / "comet-score"
        program.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return write


def test_the_score_is_the_mean_over_lines(install: Install) -> None:
    install(SCORES)
    assert comet(["a", "b"], ["日本", "cccc"], ["e", "f"]) == pytest.approx(0.3)


def test_a_model_that_cannot_be_had_is_told_with_what_to_do(install: Install) -> None:
    install(f"sys.exit(\"Traceback …\\nKeyError: Model '{MODEL}' not supported by COMET.\")")
    with pytest.raises(UserError, match=r"says: KeyError: Model .* not supported[^\0]*fetch it once"):
        comet(["a"], ["b"], ["c"])


def test_lines_that_are_missing_are_noticed(install: Install) -> None:
    install(SCORES.replace("zip(*sides, strict=True)", "list(zip(*sides))[1:]"))
    with pytest.raises(UserError, match="scored 1 lines of 2"):
        comet(["a", "b"], ["c", "d"], ["e", "f"])


def test_a_missing_program_is_told_before_anything_is_translated(
    trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["evaluate", str(trained), "--metric", "comet"]) == 2
    assert "pipx install unbabel-comet" in capsys.readouterr().err
    assert not (trained / "evaluations").exists()
