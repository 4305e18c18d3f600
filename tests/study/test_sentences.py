"""Scores of single sentences, and those that differ most."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from tests.study.kept import REFERENCES, outputs
from xformer.scoring.corpus import statistics
from xformer.study.sentences import largest_differences, read_hypotheses, sentence_bleu

EDGES = ["", "a", "a b", "a b c d e", "x y z", "a b c d e f g h", "e d c b a"]
ANSWERS = ["a", "a", "a b c", "a b c d e", "a b c d e", "a b c d", "a b c d e"]


def test_sentence_scores_are_sacrebleus() -> None:
    hypotheses, references = EDGES + outputs(1, 0.4), ANSWERS + REFERENCES
    scorer = BLEU(effective_order=True, force=True)
    expected = [
        scorer.sentence_score(one, [other]).score for one, other in zip(hypotheses, references, strict=True)
    ]
    assert sentence_bleu(statistics(hypotheses, references)) == pytest.approx(expected, abs=1e-9)
    assert min(expected) == 0
    assert max(expected) == pytest.approx(100)


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


def test_nothing_is_written_where_no_word_matches() -> None:
    assert np.all(sentence_bleu(statistics(["x", "y z"], ["a", "b c"])) == 0)
