"""Test sets beside those of the corpus: any two files, and longer sentences made of neighbouring lines."""

from __future__ import annotations

import hashlib
from pathlib import Path

from xformer.data.corpus import read_lines
from xformer.data.prepare import EvaluationSet
from xformer.data.tokenizer import Tokenizer
from xformer.errors import UserError


def from_files(tokenizer: Tokenizer, source: Path, reference: Path) -> EvaluationSet:
    """Two files, line i of one translating line i of the other, plain or .gz.

    Raises UserError where one cannot be read, they are uneven or empty.
    """
    sources, references = read_lines(source), read_lines(reference)
    if len(sources) != len(references):
        raise UserError(
            f"{source} has {len(sources)} lines and {reference} has {len(references)}: "
            "line i of one must translate line i of the other."
        )
    if not sources:
        raise UserError(f"{source} and {reference} are empty: give at least one pair of lines.")
    return EvaluationSet.of(tokenizer, sources, references)


def content_name(source: Path, data: EvaluationSet) -> str:
    """A name for a test set from files: the source's, and a hash that changes with the text of either."""
    text = "\n".join((*data.source_lines, "", *data.reference_lines))
    return f"{source.name.removesuffix('.gz')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def joined(tokenizer: Tokenizer, data: EvaluationSet, count: int) -> EvaluationSet:
    """Every `count` lines as one, a space between, on both sides; the last may be made of fewer.

    Real text has few sentences beyond the lengths of training; neighbours of a document make some.
    """
    if count == 1:
        return data
    sides = [
        [" ".join(lines[first : first + count]) for first in range(0, len(lines), count)]
        for lines in (data.source_lines, data.reference_lines)
    ]
    return EvaluationSet.of(tokenizer, *sides)
