"""A run in Python gives what the commands give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import xformer
from tests.system.commands import environment
from xformer.data.corpus import read_lines
from xformer.data.vocabulary import BOS, EOS
from xformer.decoding.sampling import Sampling
from xformer.decoding.search import SearchSettings
from xformer.errors import UserError
from xformer.runs.translator import Translator


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return xformer.load(str(trained), device="cpu")


@pytest.fixture(scope="module")
def sources(trained: Path) -> list[str]:
    (path,) = trained.parents[2].glob(".cache/corpora/*/test.qma")
    return read_lines(path)


def test_importing_xformer_stays_light() -> None:
    code = (
        "import sys, xformer; xformer.__version__\n"
        "assert not {'torch', 'lightning', 'numpy', 'hydra'} & set(sys.modules)\n"
        "assert not hasattr(xformer, 'nonsense')\n"
        "assert callable(xformer.load) and 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)


def test_lines_become_the_stored_hypotheses(
    translator: Translator, sources: list[str], trained: Path
) -> None:
    assert translator.translate(sources) == read_lines(trained / "hypotheses" / "test.txt")
    assert translator.translate([]) == []
    assert translator.translate(["", sources[0]])[0] == ""


def test_another_strategy_takes_the_place_of_the_runs_own(translator: Translator, sources: list[str]) -> None:
    found = translator.translations(sources[:4], SearchSettings(beam=3, alpha=1.0, extra_length=4, nbest=3))
    assert all(len(each.candidates) == 3 for each in found)
    sampled = translator.translate(sources, Sampling(seed=7, extra_length=2))
    assert sampled == translator.translate(sources, Sampling(seed=7, extra_length=2))
    assert sampled[::-1] == translator.translate(sources[::-1], Sampling(seed=7, extra_length=2))
    assert sampled != translator.translate(sources, Sampling(seed=8, extra_length=2))


@torch.no_grad()
def test_a_score_is_the_log_probability_of_the_tokens(translator: Translator, sources: list[str]) -> None:
    targets = [line[::-1] for line in sources]
    targets[3] = ""
    model, tokenizer = translator.trained.model, translator.trained.tokenizer
    expected = []
    for source, target in zip(tokenizer.encode(sources), tokenizer.encode(targets), strict=True):
        ids = torch.tensor([[*source, EOS]])
        hidden = model(ids, torch.ones_like(ids).bool(), torch.tensor([[BOS, *target]]))
        steps = model.logits(hidden)[0].double().log_softmax(-1)
        expected.append(sum(float(step[i]) for step, i in zip(steps, [*target, EOS], strict=True)))
    assert translator.score(sources, targets) == pytest.approx(expected, abs=1e-4)


def test_what_a_search_says_of_its_tokens_score_says_too(translator: Translator, sources: list[str]) -> None:
    """Where the text is cut into the same tokens again."""
    found = translator.translations(sources)
    texts = [each.text for each in found]
    again = translator.trained.tokenizer.encode(texts)
    same = [i for i, each in enumerate(found) if list(each.candidates[0].ids) == again[i]]
    assert same
    scores = translator.score([sources[i] for i in same], [texts[i] for i in same])
    assert scores == pytest.approx([found[i].candidates[0].log_probability for i in same], abs=1e-4)


def test_one_text_in_place_of_lines_and_uneven_sides_are_refused(translator: Translator) -> None:
    with pytest.raises(UserError, match="lines is one text"):
        translator.translate("a line")
    with pytest.raises(UserError, match="2 sources but 1 targets"):
        translator.score(["a", "b"], ["x"])


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        xformer.load(tmp_path)
