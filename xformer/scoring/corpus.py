"""Corpus BLEU, chrF and TER by sacrebleu, on text as a reader sees it.

Hypotheses are detokenised text, references the raw lines of the reference file; neither passes through
our tokenizer, and BLEU's own tokenisation (13a, cased) is part of its signature. So a figure here equals
what the `sacrebleu` command prints for the two files, and may stand beside any other with its signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from xformer.errors import UserError

NGRAM_ORDER = 4


@dataclass(frozen=True)
class Scores:
    """Three corpus scores in per cent, BLEU and chrF the higher the better, TER the lower."""

    bleu: float
    chrf: float
    ter: float
    signature: dict[str, str]  # by metric: what must agree for two figures to be comparable
    sentences: int


def score(hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
    """Score a whole test set, one reference a line; raises UserError unless there are as many of both."""
    check_as_many(hypotheses, references)
    metrics = {"bleu": _bleu(), "chrf": CHRF(), "ter": TER()}
    values = {
        name: metric.corpus_score(_right_stripped(hypotheses), [_right_stripped(references)]).score
        for name, metric in metrics.items()
    }
    signature = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return Scores(**values, signature=signature, sentences=len(hypotheses))


def statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """What BLEU counts in each line: n × (2 + 2·4) integers, whose sums over lines give the corpus' BLEU.

    Columns: hypothesis length, reference length, matching n-grams (n = 1 … 4), all n-grams (n = 1 … 4).
    """
    check_as_many(hypotheses, references)
    metric = _bleu()
    # Its own name for this is not public, but nothing public gives it, and a test holds it to the score.
    counts = metric._extract_corpus_statistics(_right_stripped(hypotheses), [_right_stripped(references)])
    return np.array(counts, dtype=np.int64)


def bleu_of(sums: np.ndarray) -> float:
    """Corpus BLEU of `statistics` summed over any lines, repeated ones counted as often."""
    lengths, counts = [int(each) for each in sums[:2]], [int(each) for each in sums[2:]]
    return BLEU.compute_bleu(
        correct=counts[:NGRAM_ORDER],
        total=counts[NGRAM_ORDER:],
        sys_len=lengths[0],
        ref_len=lengths[1],
        smooth_method="exp",
        max_ngram_order=NGRAM_ORDER,
    ).score


def _bleu() -> BLEU:
    # `force` changes no figure: it stops a warning about text that looks tokenised, at every validation.
    return BLEU(tokenize="13a", max_ngram_order=NGRAM_ORDER, force=True)


def _right_stripped(lines: Sequence[str]) -> list[str]:
    """As the `sacrebleu` command reads its files; everything else in a line is left alone."""
    return [line.rstrip() for line in lines]


def check_as_many(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise UserError unless there are as many of both, and some."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses but {len(references)} references: line n of one must translate "
            "as line n of the other. Check that both files belong to the same split."
        )
    if not hypotheses:
        raise UserError(
            "there is nothing to score: no hypotheses and no references. Check the split's files."
        )
