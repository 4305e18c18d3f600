"""Scores equal the `sacrebleu` command's, and are of the text as it stands."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from xformer.errors import UserError
from xformer.scoring.corpus import bleu_of, score, statistics

# What a tokenizer round trip, a clean-up or a careless reader would alter.
RAW = [
    'He said:  "Two  spaces, straight quotes."',
    "„Größe“ – 雪 🎉 and an unknown ☃.",
    "A line with\u2028a separator, a\u0085NEL, a\x0bVT, a\rCR.",
    "tab\there, trailing blanks   ",
    "  leading blanks don't count; apostrophes & <unk> do.",
    "plain words of a sentence that ends without a stop",
]


def corpus(lines: int = 60, seed: int = 0) -> tuple[list[str], list[str]]:
    """Hypotheses with words dropped, swapped and recased, and their references."""
    rng = random.Random(seed)
    references = [f"{rng.choice(RAW)} {number} {rng.choice(RAW)}" for number in range(lines)]
    hypotheses = []
    for reference in references:
        words = [word for word in reference.split(" ") if rng.random() > 0.2]
        words[2:5] = reversed(words[2:5])
        hypotheses.append(" ".join(word.upper() if rng.random() < 0.1 else word for word in words))
    return hypotheses, references


def printed(hypotheses: list[str], references: list[str], folder: Path) -> dict[str, dict]:
    """What the command prints for the two files, to ten decimals."""
    for name, lines in (("hypotheses", hypotheses), ("references", references)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", "hypotheses"]
    command += ["-m", "bleu", "chrf", "ter", "-w", "10"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return {each["name"]: each for each in json.loads(done.stdout)}


def test_every_figure_and_signature_is_what_the_command_prints(tmp_path: Path) -> None:
    hypotheses, references = corpus()
    hypotheses[3], hypotheses[7] = "", "   "
    found, command = score(hypotheses, references), printed(hypotheses, references, tmp_path)
    assert 10 < found.bleu < 95
    for value, name in ((found.bleu, "BLEU"), (found.chrf, "chrF2"), (found.ter, "TER")):
        assert round(value, 10) == command[name]["score"]
    for metric, name in (("bleu", "BLEU"), ("chrf", "chrF2"), ("ter", "TER")):
        signature = dict(part.split(":") for part in found.signature[metric].split("|"))
        assert signature == {key: command[name][key] for key in signature}
        assert f"version:{sacrebleu.__version__}" in found.signature[metric]


def test_bleu_is_cased_and_tokenised_by_13a() -> None:
    found = score(["A Dog runs."], ["A Dog runs."])
    assert "case:mixed" in found.signature["bleu"]
    assert "tok:13a" in found.signature["bleu"]
    assert score(["a dog runs fast today ."], ["A dog runs fast today."]).bleu < 100


def test_the_reference_itself_scores_a_hundred() -> None:
    _, references = corpus()
    found = score(references, references)
    assert (found.bleu, found.chrf, found.ter) == (pytest.approx(100), pytest.approx(100), 0)
    assert found.sentences == 60


@pytest.mark.parametrize(
    ("line", "altered"),
    [
        ("The ☃ sat in the snow.", "The <unk> sat in the snow."),
        ('He said "yes" to all of it.', "He said “yes” to all of it."),
        ("One of Them was here today.", "one of them was here today."),
    ],
)
def test_references_are_not_normalised(line: str, altered: str) -> None:
    assert score([altered], [line]).bleu < 100
    assert score([line], [line]).bleu == pytest.approx(100)


def test_a_marked_line_stays_one_line() -> None:
    """A line for `splitlines` would be three here, and the next would be scored against the wrong one."""
    lines = [RAW[2], RAW[0]]
    assert score(lines, lines).sentences == 2
    assert score(lines, lines).bleu == pytest.approx(100)


@pytest.mark.parametrize("count", [score, statistics])
@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a"], ["a", "b"], "1 hypotheses but 2 references"),
        ([], ["a"], "0 hypotheses but 1 references"),
        ([], [], "nothing to score"),
    ],
)
def test_what_cannot_be_scored_is_said(count, hypotheses, references, message: str) -> None:
    with pytest.raises(UserError, match=message):
        count(hypotheses, references)


def test_sums_of_statistics_give_the_corpus_bleu() -> None:
    hypotheses, references = corpus()
    counts = statistics(hypotheses, references)
    assert counts.shape == (60, 10)
    assert counts.dtype.kind == "i"
    assert bleu_of(counts.sum(axis=0)) == score(hypotheses, references).bleu


def test_any_resample_of_statistics_gives_that_samples_bleu() -> None:
    hypotheses, references = corpus()
    chosen = np.random.default_rng(0).integers(60, size=60)
    resampled = score([hypotheses[i] for i in chosen], [references[i] for i in chosen]).bleu
    assert bleu_of(statistics(hypotheses, references)[chosen].sum(axis=0)) == resampled


def test_statistics_by_hand() -> None:
    [counts] = statistics(["the cat sat"], ["the cat sat down"]).tolist()
    assert counts == [3, 4, 3, 2, 1, 0, 3, 2, 1, 0]


def test_nothing_in_common_scores_nothing() -> None:
    hypotheses, references = ["x y z"], ["a b c d"]
    assert score(hypotheses, references).bleu == 0
    assert bleu_of(statistics(hypotheses, references).sum(axis=0)) == 0


def test_scoring_needs_no_torch() -> None:
    code = "import sys, xformer.scoring.corpus; print('torch' in sys.modules or 'lightning' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
