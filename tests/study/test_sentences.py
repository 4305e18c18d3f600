"""The sentences on which two runs differ most."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.study.kept import REFERENCES, outputs
from xformer.scoring.corpus import statistics
from xformer.study.sentences import largest_differences, read_hypotheses


def test_the_largest_gaps_come_first_and_equal_sentences_never() -> None:
    left, right = list(REFERENCES), list(REFERENCES)
    right[7] = "nothing of it"
    left[3] = " ".join(left[3].split()[:-1])
    pairs = largest_differences(
        (left, statistics(left, REFERENCES)), (right, statistics(right, REFERENCES)), most=10
    )
    assert [pair.line for pair in pairs] == [8, 4]
    assert pairs[0].right == "nothing of it"
    assert pairs[0].difference == pytest.approx(pairs[0].right_bleu - pairs[0].left_bleu)
    assert pairs[0].difference < 0 < pairs[1].difference


def test_no_more_sentences_than_asked_for_and_none_of_unequal_files() -> None:
    one, other = outputs(1), outputs(2)
    counts = statistics(one, REFERENCES), statistics(other, REFERENCES)
    assert len(largest_differences((one, counts[0]), (other, counts[1]), most=5)) == 5
    assert largest_differences((one[:-1], counts[0]), (other, counts[1]), most=5) == ()
    assert largest_differences((one, counts[0][:-1]), (other, counts[1]), most=5) == ()


def test_hypotheses_are_cut_at_line_feeds_only(tmp_path: Path) -> None:
    file = tmp_path / "test.txt"
    file.write_bytes("one\u2028two\x0b\n\nthree\r\n".encode())
    assert read_hypotheses(file) == ["one\u2028two\x0b", "", "three\r"]
    file.write_bytes(b"")
    assert read_hypotheses(file) == []
