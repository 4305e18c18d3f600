"""The sentences that a page carries along, so that its reader can set any two rows side by side.

All sentences of all rows would be megabytes. Carried are those on which some two rows differ most: first the
sentence of the largest difference of every pair, then that of the second largest, and so on to a limit.

Shapes: R rows, N sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xformer.scoring.counts import REFERENCE_LENGTH, sentence_bleu
from xformer.study.table import Row
from xformer.study.text import plain
from xformer.study.translations import first_output

EACH = 8  # sentences that are shown of a pair
LIMIT = 500_000  # characters of all that is carried


@dataclass(frozen=True)
class Picker:
    """`shown` is how many of a pair's largest differences are certain to be carried, `of` is N."""

    rows: tuple[str, ...]
    lines: tuple[int, ...]
    shown: int
    of: int
    texts: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]  # different ones, and which each row has
    scores: tuple[tuple[float, ...], ...]

    def values(self) -> dict[str, Any]:
        """What the page's script reads."""
        sentences = zip(self.lines, self.texts, self.scores, strict=True)
        return {"shown": self.shown, "sentences": [[line, *text, bleu] for line, text, bleu in sentences]}


def picker(rows: Sequence[Row], limit: int = LIMIT) -> Picker | None:
    """The first scored run of each row; None where there are not two on the same references.

    Rows scored on other references than the first one, which the references' lengths tell, are left out.
    """
    found = [(row, output) for row in rows if (output := first_output(row)) is not None]
    found = [
        (row, output)
        for row, output in found
        if np.array_equal(output[1][:, REFERENCE_LENGTH], found[0][1][1][:, REFERENCE_LENGTH])
    ]
    if len(found) < 2:
        return None
    lines = [[plain(line) for line in output[0]] for _, output in found]
    scores_RN = np.stack([sentence_bleu(output[1]) for _, output in found])
    wanted = _wanted(scores_RN)
    order = [int(n) for n in np.argsort(wanted, kind="stable") if wanted[n] < EACH]
    carried, shown = _within(order, wanted, lines, limit)
    return Picker(
        rows=tuple(row.label for row, _ in found),
        lines=tuple(n + 1 for n in carried),
        shown=shown,
        of=scores_RN.shape[1],
        texts=tuple(_shared([each[n] for each in lines]) for n in carried),
        scores=tuple(tuple(round(float(score), 1) for score in scores_RN[:, n]) for n in carried),
    )


def _wanted(scores_RN: NDArray[np.float64]) -> NDArray[np.int64]:
    """The place [N] that a sentence has, at best, among the largest differences of any two rows."""
    rows, sentences = scores_RN.shape
    best = np.full(sentences, sentences)
    most = min(EACH, sentences)
    for number in range(rows - 1):
        gaps = np.abs(scores_RN[number + 1 :] - scores_RN[number])
        order = np.argsort(-gaps, axis=1, kind="stable")[:, :most]
        real = np.take_along_axis(gaps, order, axis=1) > 1e-9
        places = np.broadcast_to(np.arange(most), order.shape)
        np.minimum.at(best, order[real], places[real])
    return best


def _within(
    order: Sequence[int], wanted: NDArray[np.int64], lines: Sequence[Sequence[str]], limit: int
) -> tuple[list[int], int]:
    """As many sentences as the limit allows, and how many of each pair's largest are all among them."""
    carried: list[int] = []
    size = 0
    for n in order:
        size += sum(map(len, {each[n] for each in lines})) + 8 * len(lines)
        if size > limit:
            return carried, int(wanted[n])
        carried.append(n)
    return carried, EACH


def _shared(texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Each different text once, and the number of the one that every row has."""
    different = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return tuple(different), tuple(different[text] for text in texts)
