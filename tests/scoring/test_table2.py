"""BLEU as the paper's Table 2 counts it, held to what its parts do by hand."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.bleu import BLEU

from xformer.errors import UserError
from xformer.scoring.corpus import score
from xformer.scoring.table2 import tokenised_bleu

HYPOTHESES = [
    "Das „Rich-Text-Format“ ist z.B. nicht neu, sagt er.",
    "Der 20-jährige Mann schläft, und der Hund läuft.",
]
REFERENCES = [
    "Das „Rich-Text-Format“ ist z.B. gar nicht neu, sagt sie.",
    "Der 20-jährige Mann schläft, während der Hund läuft.",
]
BY_HAND = [
    [
        "Das &quot; Rich ##AT##-##AT## Text ##AT##-##AT## Format &quot; ist z.B. nicht neu , sagt er .",
        "Der 20 ##AT##-##AT## jährige Mann schläft , und der Hund läuft .",
    ],
    [
        "Das &quot; Rich ##AT##-##AT## Text ##AT##-##AT## Format &quot; ist z.B. gar nicht neu , sagt sie .",
        "Der 20 ##AT##-##AT## jährige Mann schläft , während der Hund läuft .",
    ],
]


def by_hand(split: bool) -> float:
    hypotheses, references = (
        [line if split else line.replace(" ##AT##-##AT## ", "-") for line in side] for side in BY_HAND
    )
    return BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score


def test_german_is_tokenised_with_its_compounds_split() -> None:
    found = tokenised_bleu(HYPOTHESES, REFERENCES, "de")
    assert found.score == pytest.approx(by_hand(split=True), abs=1e-9)
    assert found.signature.startswith("tok:moses-de|compounds:split|sacremoses:")


def test_other_languages_keep_their_compounds() -> None:
    found = tokenised_bleu(HYPOTHESES, REFERENCES, "fr")
    assert "tok:moses-fr|compounds:whole" in found.signature
    assert found.score < tokenised_bleu(HYPOTHESES, REFERENCES, "de").score


def test_it_is_another_figure_than_sacrebleus_and_says_so() -> None:
    found = tokenised_bleu(HYPOTHESES, REFERENCES, "de")
    assert found.score > score(HYPOTHESES, REFERENCES).bleu + 1
    assert "not comparable with sacreBLEU" in found.label


def test_nothing_is_smoothed_and_case_counts() -> None:
    assert tokenised_bleu(["das ist neu"], ["etwas anderes hier"], "de").score == 0
    assert tokenised_bleu(["DAS IST GANZ NEU"], ["das ist ganz neu"], "de").score == 0


def test_uneven_sides_are_refused() -> None:
    with pytest.raises(UserError, match="1 hypotheses but 2 references"):
        tokenised_bleu(["a"], ["a", "b"], "de")
