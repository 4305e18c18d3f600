"""BLEU as the paper's Table 2 counts it: on tokenised text, German compounds split at their hyphens.

After the authors' own script (tensor2tensor's `get_ende_bleu.sh`): punctuation of Unicode replaced, Moses'
tokenizer, `rich-text` → `rich ##AT##-##AT## text` in German, and n-gram precision on what spaces then
separate. The same output scores higher than with sacreBLEU's own tokenisation, and tokenizers differ between
papers, so that this figure may stand beside the paper's and nowhere else. The authors' reference came
tokenised; here the raw one is treated as the output is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from xformer.scoring.corpus import NGRAM_ORDER, check_as_many

SPLIT = ("de",)  # languages whose compounds are split, which the authors did for German alone
LABEL = "tokenised, for the paper's Table 2 only: not comparable with sacreBLEU"

_HYPHENATED = re.compile(r"(\S)-(\S)")


@dataclass(frozen=True)
class TokenisedBleu:
    """In per cent, with how it was counted."""

    score: float
    signature: str
    label: str = LABEL


def tokenised_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> TokenisedBleu:
    """Score a whole test set of detokenised text, one reference a line.

    language: of the target, by its two letters, for Moses' list of abbreviations.
    Raises UserError unless there are as many of both.
    """
    from sacrebleu.metrics.bleu import BLEU

    check_as_many(hypotheses, references)
    cut = _Tokens(language)
    # multi-bleu.perl smooths nothing and takes the case as it is.
    metric = BLEU(tokenize="none", smooth_method="none", max_ngram_order=NGRAM_ORDER, force=True)
    found = metric.corpus_score([cut(line) for line in hypotheses], [[cut(line) for line in references]])
    compounds = "split" if language in SPLIT else "whole"
    tokenizer = f"tok:moses-{language}|compounds:{compounds}|sacremoses:{version('sacremoses')}"
    return TokenisedBleu(found.score, f"{tokenizer}|{metric.get_signature()}")


class _Tokens:
    """A line with a space between any two tokens."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._normalizer = MosesPunctNormalizer(lang=language)
        self._tokenizer = MosesTokenizer(lang=language)

    def __call__(self, line: str) -> str:
        text: str = self._tokenizer.tokenize(self._normalizer.replace_unicode_punct(line), return_str=True)
        return _HYPHENATED.sub(r"\1 ##AT##-##AT## \2", text) if self._language in SPLIT else text
