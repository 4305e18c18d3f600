"""Scores by source length: every sentence in one bucket, trained lengths apart from longer ones."""

from __future__ import annotations

import random

import pytest

from xformer.scoring.corpus import score
from xformer.scoring.lengths import ROUND, score_by_length, upper_edges

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]


def sentences(count: int) -> tuple[list[str], list[str], list[int]]:
    draw = random.Random(0)
    lengths = [draw.randint(0, 400) for _ in range(count)]
    references = [" ".join(draw.choices(WORDS, k=9)) for _ in lengths]
    hypotheses = [" ".join(word for word in line.split() if draw.random() < 0.95) for line in references]
    return hypotheses, references, lengths


def test_edges_are_round_within_training_and_multiples_beyond() -> None:
    assert upper_edges(64) == [10, 20, 30, 40, 60, 64, 80, 96, 128, 192]
    assert upper_edges(5) == [5, 6, 7, 10, 15]
    assert upper_edges(60) == [10, 20, 30, 40, 60, 75, 90, 120, 180]
    assert upper_edges(None) == list(ROUND)


@pytest.mark.parametrize("longest_trained", [None, 1, 64, 100, 1000])
def test_each_bucket_is_the_corpus_of_its_sentences(longest_trained: int | None) -> None:
    hypotheses, references, lengths = sentences(60)
    buckets = score_by_length(hypotheses, references, lengths, longest_trained)
    assert sum(bucket.scores.sentences for bucket in buckets) == 60
    for bucket in buckets:
        members = [
            i for i, n in enumerate(lengths)
            if bucket.shortest <= n and (bucket.longest is None or n <= bucket.longest)
        ]  # fmt: skip
        assert bucket.scores == score([hypotheses[i] for i in members], [references[i] for i in members])
        if longest_trained is None:
            assert bucket.beyond_training is None
        else:
            assert {lengths[i] > longest_trained for i in members} == {bucket.beyond_training}
    assert [bucket.shortest for bucket in buckets] == sorted(bucket.shortest for bucket in buckets)


def test_one_bucket_of_all_has_the_scores_of_all() -> None:
    hypotheses, references, _ = sentences(20)
    (bucket,) = score_by_length(hypotheses, references, [7] * 20, 50)
    assert bucket.scores == score(hypotheses, references)
    assert (bucket.label, bucket.beyond_training) == ("0–10", False)


def test_the_last_bucket_is_open() -> None:
    (bucket,) = score_by_length(["x"], ["x"], [1000], 50)
    assert (bucket.label, bucket.beyond_training) == ("151–", True)
