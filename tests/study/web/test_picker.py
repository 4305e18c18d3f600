"""The sentences of a page hold the largest differences of every pair of rows."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from tests.study.kept import LINES, REFERENCES, write_kept
from xformer.study.collect import collect
from xformer.study.sentences import largest_differences
from xformer.study.table import Row, build_tables
from xformer.study.translations import first_output
from xformer.study.web.picker import EACH, picker

NAMES = (
    "table3/base",
    "modern/rmsnorm",
    "modern/prenorm_x",
    "mine",
)  # of different lengths, as kept.py wants


def rows(root: Path, lost: float = 0.2) -> tuple[Row, ...]:
    for name in NAMES:
        kept = write_kept(root, name, 1, lost)
        lines = (f"{name} {number}" for number in range(LINES))
        (kept / "hypotheses" / "test.txt").write_text("".join(f"{line}\n" for line in lines))
    (table,), _ = build_tables(collect(root))
    return tuple(row for row in table.rows if row.runs)


@pytest.mark.parametrize("limit", [500_000, 2_000, 1_000])
def test_what_is_shown_of_a_pair_is_what_differs_most(tmp_path: Path, limit: int) -> None:
    found = rows(tmp_path)
    made = picker(found, limit)
    assert made is not None
    assert made.shown == EACH if limit == 500_000 else made.shown < EACH
    for (left, one), (right, other) in combinations(enumerate(found), 2):
        mine, theirs = first_output(one), first_output(other)
        assert mine
        assert theirs
        expected = largest_differences(mine, theirs, made.shown)
        gaps = sorted((abs(each[left] - each[right]) for each in made.scores), reverse=True)
        assert gaps[: len(expected)] == pytest.approx([abs(each.difference) for each in expected], abs=0.11)


def test_each_row_has_its_own_text_and_score(tmp_path: Path) -> None:
    found = rows(tmp_path)
    made = picker(found)
    assert made is not None
    assert made.rows == tuple(row.label for row in found)
    for line, (texts, which) in zip(made.lines, made.texts, strict=True):
        assert [texts[n] for n in which] == [f"{row.experiment} {line - 1}" for row in found]
    assert made.of == LINES


def test_equal_texts_are_carried_once_and_equal_rows_have_no_sentences(tmp_path: Path) -> None:
    found = rows(tmp_path, lost=0.0)
    made = picker(found)
    assert made is not None
    assert made.lines == ()


def test_a_row_on_other_references_is_left_out_and_one_row_is_no_pair(tmp_path: Path) -> None:
    write_kept(tmp_path, "table3/base", 1)
    write_kept(tmp_path, "modern/rope", 1, references=[f"{line} more" for line in REFERENCES])
    (table,), _ = build_tables(collect(tmp_path))
    assert picker(table.rows) is None
