"""Numbers of things, as messages say them."""

from __future__ import annotations

from xformer.wording import counted


def test_things_are_counted_in_words() -> None:
    assert [counted(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
