"""What docs/extending.md says is done to a copy of the repository, to the letter, and works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from tests.study.folders import result, write_run
from tests.system.commands import REPOSITORY, environment, run_in, words

DOCUMENT = (REPOSITORY / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL))
VARIANTS = {
    "A position scheme": "position: log",
    "A norm": "norm: plain_rms",
    "A feed-forward": "feedforward: mish",
}


def block(section: str, language: str) -> str:
    """The code of one section in one language."""
    found = re.search(rf"^```{language}\n(.*?)^```", SECTIONS[section], re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def apply(diff: str, root: Path) -> None:
    """Make the changes of a diff without line numbers: each piece must fit in exactly one place."""
    for name, body in re.findall(r"^\+\+\+ (\S+)\n(.*?)(?=^\+\+\+ |\Z)", diff, re.MULTILINE | re.DOTALL):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for piece in (
            list(lines) for is_cut, lines in groupby(body.splitlines(), key="@@".__eq__) if not is_cut
        ):
            old = "".join(f"{line[1:]}\n" for line in piece if not line.startswith("+"))
            new = "".join(f"{line[1:]}\n" for line in piece if not line.startswith("-"))
            assert text.count(old) == 1 or not text, f"{name}: {old!r} stands there {text.count(old)} times"
            text = text.replace(old, new) if text else new
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with all that the document adds to the model."""
    root = tmp_path_factory.mktemp("extended")
    for room in ("xformer", "conf", "experiments", "sweeps", "tests"):
        shutil.copytree(REPOSITORY / room, root / room, ignore=shutil.ignore_patterns("__pycache__"))
    row = block("A row that uses it", "diff")
    for section, choice in VARIANTS.items():
        apply(block(section, "diff"), root)
        group, name = choice.split(": ")
        other = row.replace("mine/log", f"mine/{name}").replace("position: log", choice)
        apply(other.replace("model.position", f"model.{group}"), root)
    return root


@pytest.mark.parametrize("section", [*VARIANTS, "A data set", "A claim"])
def test_each_takes_less_than_twenty_lines(section: str) -> None:
    code = block(section, "diff" if section in VARIANTS else "yaml").splitlines()
    if section in VARIANTS:
        code = [line[1:] for line in code if line.startswith("+") and not line.startswith("+++")]
    assert 0 < len([line for line in code if line.strip()]) < 20


def test_what_is_added_keeps_every_promise_of_the_rows(extended: Path) -> None:
    (command,) = re.findall(r"pytest (tests/experiments.*)$", DOCUMENT, re.MULTILINE)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *command.split()],
        cwd=extended, env=environment(PYTHONPATH=str(extended)), capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
    for choice in VARIANTS.values():
        name = choice.split(": ")[1]
        assert (extended / "experiments" / "mine" / f"{name}.yaml").exists()
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed
    assert int(passed[1]) >= 8 * len(VARIANTS)


def test_a_row_is_described_with_what_it_changes(extended: Path) -> None:
    ended = subprocess.run(
        words("inspect", "--diff", "table3/base", "mine/log"),
        cwd=extended, env=environment(PYTHONPATH=str(extended)), capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "model.position.kind" in ended.stdout


def test_a_corpus_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "own" / "data").mkdir(parents=True)
    (tmp_path / "own" / "data" / "village.yaml").write_text(block("A data set", "yaml"))
    corpus = tmp_path / "corpora" / "village"
    corpus.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        for language in ("en", "de"):
            text = "".join(f"{language} word{i % 7} word{i % 5} word{i % 3}\n" for i in range(60))
            (corpus / f"{split}.{language}").write_text(text)
    (command,) = re.findall(r"^xformer (data .*)$", SECTIONS["A data set"], re.MULTILINE)
    ended = run_in(tmp_path)(*command.replace("300", "265").split())
    assert ended.returncode == 0, ended.stderr
    assert "60" in ended.stdout


def test_a_claim_is_judged(tmp_path: Path) -> None:
    for experiment, bleu in (("mine/log", 70.0), ("modern/alibi", 68.0)):
        for seed in (1, 2, 3):
            write_run(tmp_path / "runs", experiment, seed, outcome=result(bleu + seed / 10))
    (tmp_path / "claims.yaml").write_text(block("A claim", "yaml"))
    (command,) = re.findall(r"^xformer (report .*)$", SECTIONS["A claim"], re.MULTILINE)
    ended = run_in(tmp_path)(*command.split(), COLUMNS="150")
    assert ended.returncode == 0, ended.stderr
    assert "logarithm" in ended.stdout
    assert "supported" in ended.stdout
