"""Corpus scores by the length of the source, within the lengths that were trained on and beyond.

What a mean over a test set hides: how a model fares on long sentences, and on longer ones than it has ever
seen. No bucket holds both kinds: one ends at the longest training sentence, and those beyond are cut at
multiples of it, in which extrapolation is usually told.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from xformer.scoring.corpus import Scores, score

# Upper ends of buckets; steps grow with the length, since long sentences are few.
ROUND = (10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640)
BEYOND = (1.25, 1.5, 2.0, 3.0)


@dataclass(frozen=True)
class Bucket:
    """Scores of the sentences whose source has `shortest` to `longest` tokens; None: any number."""

    shortest: int
    longest: int | None
    beyond_training: bool | None  # None where the longest training sentence is not known
    scores: Scores

    @property
    def label(self) -> str:
        """`11–20`, or `481–`."""
        return f"{self.shortest}–{'' if self.longest is None else self.longest}"


def score_by_length(
    hypotheses: Sequence[str],
    references: Sequence[str],
    source_lengths: Sequence[int],
    longest_trained: int | None,
) -> list[Bucket]:
    """Score the sentences of each bucket as a corpus of their own, shortest first, empty ones left out."""
    edges = upper_edges(longest_trained)
    members: dict[int, list[int]] = {}
    for sentence, length in enumerate(source_lengths):
        members.setdefault(bisect_left(edges, length), []).append(sentence)
    buckets = []
    for place, sentences in sorted(members.items()):
        shortest = 0 if place == 0 else edges[place - 1] + 1
        buckets.append(
            Bucket(
                shortest=shortest,
                longest=edges[place] if place < len(edges) else None,
                beyond_training=None if longest_trained is None else shortest > longest_trained,
                scores=score([hypotheses[i] for i in sentences], [references[i] for i in sentences]),
            )
        )
    return buckets


def upper_edges(longest_trained: int | None) -> list[int]:
    """The greatest length of each bucket but the last, which has none."""
    if longest_trained is None:
        return list(ROUND)
    within = [edge for edge in ROUND if edge < longest_trained]
    beyond = [int(times * longest_trained) for times in BEYOND]
    return sorted({*within, longest_trained, *beyond})
