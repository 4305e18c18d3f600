"""Text cut as SentencePiece does with a unigram language model: the most probable pieces.

Two steps, both told by the model's file: characters are replaced (NFKC and the like), and the line, its
spaces written as ▁, is cut into the pieces whose log-probabilities have the greatest sum.

Often several cuts have the same sum (`...` as `.` and `..` or the other way round), and rounding decides. The
`tokenizers` library rounds in another precision than SentencePiece and chooses the other, so it is not used.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xformer.data.character_map import CharacterMap

SPACE = "▁"

_PENALTY = 10.0  # by which a character without a piece is less probable than the rarest piece


@dataclass(frozen=True)
class Unigram:
    """One side's way to cut: each piece's log-probability, and what is read in place of characters."""

    pieces: Mapping[str, float]
    characters: CharacterMap

    def cut(self, lines: Sequence[str]) -> list[list[str]]:
        """The pieces of each line; neighbours without a piece are one, as they stand there."""
        return [self._cut(self.normalised(line)) for line in lines]

    def normalised(self, line: str) -> str:
        """The line as it is cut: characters replaced, one ▁ for spaces, one before the first word."""
        words = [word for word in self.characters.replace(line).split(" ") if word]
        return (SPACE + SPACE.join(words)).rstrip(SPACE)

    def _cut(self, line: str) -> list[str]:
        """The best path by Viterbi's algorithm; of equal ones, in single precision, the first found."""
        size, scores = len(line), self._scores
        best, total = array("f", bytes(4 * (size + 1))), array("f", [0.0])  # which round what they store
        starts = [-1] * (size + 1)
        for start in range(size):
            so_far, alone = best[start], False
            for end in range(start + 1, size + 1):
                score = scores.get(line[start:end])
                if score is None:
                    break
                if score == -math.inf:
                    continue
                alone = alone or end == start + 1
                total[0] = so_far + score
                if starts[end] < 0 or total[0] > best[end]:
                    best[end], starts[end] = total[0], start
            end = start + 1
            total[0] = so_far + self._unknown
            if not alone and (starts[end] < 0 or total[0] > best[end]):
                best[end], starts[end] = total[0], start
        return self._joined(line, starts)

    def _joined(self, line: str, starts: Sequence[int]) -> list[str]:
        """The pieces of a path that is told by where the piece before each place starts."""
        pieces: list[str] = []
        end, unknown_after = len(line), False
        while end:
            piece = line[starts[end] : end]
            unknown = piece not in self.pieces
            if unknown and unknown_after:
                pieces[-1] = piece + pieces[-1]
            else:
                pieces.append(piece)
            end, unknown_after = starts[end], unknown
        return pieces[::-1]

    @cached_property
    def _scores(self) -> dict[str, float]:
        """By piece; -∞ for what only begins one."""
        beginnings = {piece[:end]: -math.inf for piece in self.pieces for end in range(1, len(piece))}
        return beginnings | dict(self.pieces)

    @cached_property
    def _unknown(self) -> float:
        return array("f", [min(self.pieces.values()) - _PENALTY])[0]
