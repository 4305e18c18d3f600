"""Counts are kept without loss, and many sums are scored as one is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from tests.scoring.test_corpus import corpus
from xformer.scoring.corpus import bleu_of, score, statistics
from xformer.scoring.counts import bleu_of_many, counts_file, read_counts, sentence_bleu, write_counts

EDGES = ["", "a", "a b", "a b c d e", "x y z", "a b c d e f g h", "e d c b a"]
ANSWERS = ["a", "a", "a b c", "a b c d e", "a b c d e", "a b c d", "a b c d e"]


def test_kept_counts_give_sacrebleus_score_to_the_last_digit(tmp_path: Path) -> None:
    hypotheses, references = corpus()
    hypotheses[3], hypotheses[7] = "", "   "
    write_counts(tmp_path / "test.txt", hypotheses, references)
    kept = read_counts(tmp_path / "test.bleu.csv")
    assert (kept == statistics(hypotheses, references)).all()
    assert bleu_of(kept.sum(axis=0)) == score(hypotheses, references).bleu


def test_counts_lie_beside_their_text() -> None:
    assert counts_file(Path("evaluations/0123abcd.long.txt")) == Path("evaluations/0123abcd.long.bleu.csv")


def test_many_sums_are_scored_as_sacrebleu_scores_each() -> None:
    counts = statistics(*corpus())
    random = np.random.default_rng(1)
    sums = np.stack([counts[random.integers(60, size=size)].sum(axis=0) for size in range(1, 200)])
    expected = [bleu_of(each) for each in sums]
    assert max(expected) > 20
    np.testing.assert_allclose(bleu_of_many(sums.astype(float)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "sums",
    [
        [10, 10, 5, 2, 0, 0, 10, 9, 8, 7],  # two orders without a match
        [10, 10, 5, 0, 1, 0, 10, 9, 8, 7],  # one between
        [10, 20, 9, 8, 7, 6, 10, 9, 8, 7],  # short
        [20, 10, 9, 8, 7, 6, 20, 19, 18, 17],  # long
        [10, 10, 0, 0, 0, 0, 10, 9, 8, 7],  # no match at all
        [2, 2, 2, 1, 0, 0, 2, 1, 0, 0],  # no three words in a row
        [0, 10, 0, 0, 0, 0, 0, 0, 0, 0],  # nothing said
    ],
)
def test_sums_that_are_smoothed_or_empty_are_scored_as_sacrebleu_scores_them(sums: list[int]) -> None:
    expected = bleu_of(np.array(sums))
    assert bleu_of_many(np.array(sums, dtype=float)) == pytest.approx(expected, rel=1e-12)


def test_sentence_scores_are_sacrebleus() -> None:
    system, truth = corpus()
    hypotheses, references = EDGES + system, ANSWERS + truth
    scorer = BLEU(effective_order=True, force=True)
    expected = [
        scorer.sentence_score(one, [other]).score for one, other in zip(hypotheses, references, strict=True)
    ]
    assert sentence_bleu(statistics(hypotheses, references)) == pytest.approx(expected, abs=1e-9)
    assert min(expected) == 0
    assert max(expected) == pytest.approx(100)


def test_a_sentence_without_a_match_scores_nothing() -> None:
    assert np.all(sentence_bleu(statistics(["x", "y z"], ["a", "b c"])) == 0)


@pytest.mark.parametrize("damage", ["", "a,b\n1,2\n", "HEAD\n", "HEAD\n1,2,3\n", "HEAD\n1,x\n"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    write_counts(tmp_path / "test.txt", *corpus())
    path = tmp_path / "test.bleu.csv"
    head = path.read_text().partition("\n")[0]
    path.write_text(damage.replace("HEAD", head))
    with pytest.raises(ValueError, match=r"."):
        read_counts(path)
