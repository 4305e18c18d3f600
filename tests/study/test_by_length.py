"""BLEU of groups of lengths: each sentence is in one group, and a group's BLEU is that of its sentences."""

from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from tests.study.kept import LINES, REFERENCES, outputs
from xformer.scoring.corpus import statistics
from xformer.scoring.counts import REFERENCE_LENGTH
from xformer.study.by_length import LEAST, by_reference_length


def test_each_group_scores_as_sacrebleu_scores_its_sentences() -> None:
    hypotheses = outputs(1)
    counts = statistics(hypotheses, REFERENCES)
    lengths = counts[:, REFERENCE_LENGTH]
    groups = by_reference_length(counts)
    assert len(groups) > 1
    assert sum(group.sentences for group in groups) == LINES
    for group in groups:
        inside = [n for n in range(LINES) if group.shortest <= lengths[n] <= group.longest]
        expected = BLEU().corpus_score([hypotheses[n] for n in inside], [[REFERENCES[n] for n in inside]])
        assert group.sentences == len(inside)
        assert group.bleu == pytest.approx(expected.score, abs=1e-4)


def test_groups_follow_from_the_references_alone() -> None:
    one, other = (by_reference_length(statistics(outputs(seed), REFERENCES)) for seed in (1, 2))
    assert [(each.shortest, each.longest) for each in one] == [
        (each.shortest, each.longest) for each in other
    ]


def test_too_few_sentences_have_no_groups() -> None:
    counts = statistics(outputs(1), REFERENCES)
    assert by_reference_length(counts[: 2 * LEAST - 1]) == ()
    assert by_reference_length(np.empty((0, 10), np.int64)) == ()


def test_sentences_too_short_for_four_words_in_a_row_are_in_a_group_with_longer_ones() -> None:
    references = ["a b c"] * 40 + ["a b c d"] * 40 + ["a b c d e f"] * 40
    groups = by_reference_length(statistics(references, references))
    assert [(each.shortest, each.longest, each.bleu) for each in groups] == [
        (3, 5, pytest.approx(100)),
        (6, 6, pytest.approx(100)),
    ]


def test_no_group_is_smaller_than_bleu_can_bear() -> None:
    lengths = [5] + [7] * 3 + [12] * 196
    counts = np.zeros((len(lengths), 10), np.int64)
    counts[:, REFERENCE_LENGTH] = lengths
    assert by_reference_length(counts) == ()
    longer = np.zeros((60, 10), np.int64)
    longer[:, REFERENCE_LENGTH] = 20
    groups = by_reference_length(np.concatenate([counts, longer]))
    assert [(each.shortest, each.longest, each.sentences) for each in groups] == [(5, 19, 200), (20, 20, 60)]
