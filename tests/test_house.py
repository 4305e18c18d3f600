"""The house is kept in order (docs/design.md); `make lint` holds its imports to one way."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
LONGEST = 350


@pytest.mark.parametrize("room", ["xformer", "tests", "benchmarks"])
def test_no_file_is_too_long_to_read_at_once(room: str) -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in (REPOSITORY / room).rglob("*.py")}
    assert lengths
    assert {str(path): length for path, length in lengths.items() if length > LONGEST} == {}
