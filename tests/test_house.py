"""The house is kept in order (docs/design.md); `make lint` holds its imports to one way."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
LONGEST = 350


@pytest.mark.parametrize("room", ["xformer", "tests", "benchmarks"])
def test_no_file_is_too_long_to_read_at_once(room: str) -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in (REPOSITORY / room).rglob("*.py")}
    assert lengths
    assert {str(path): length for path, length in lengths.items() if length > LONGEST} == {}


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "benchmarks").glob("[!_]*.py")), ids=lambda path: path.stem
)
def test_every_benchmark_finds_what_it_measures(path: Path) -> None:
    importlib.import_module(f"benchmarks.{path.stem}")


def test_every_kind_of_fault_has_a_test_that_exists() -> None:
    rows = (REPOSITORY / "docs" / "faults.md").read_text(encoding="utf-8").split("\n| S")[1:]
    assert [row[:2] for row in rows] == [f"{number:02}" for number in range(1, 27)]
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
        assert named, row
        for path, name in named:
            assert f"def {name}(" in (REPOSITORY / path).read_text(encoding="utf-8"), f"{path}::{name}"
