"""What is said of a split that was scored."""

from __future__ import annotations

import json
import math
from pathlib import Path

from xformer.files import write_json
from xformer.runs.evaluation import Evaluation
from xformer.scoring.corpus import score
from xformer.study.records import ResultFile, read_result
from xformer.training.validation import perplexity


def stored(folder: Path, evaluation: Evaluation) -> ResultFile:
    write_json(folder / "result.json", {"dev": evaluation.summary(), "test": evaluation.summary()})
    found = read_result(folder)
    assert found is not None
    return found


def test_a_perplexity_beyond_all_numbers_is_stored_as_none(tmp_path: Path) -> None:
    """Of a text without spaces, each line counts as one word: 300 tokens of 3 nats are too much for exp."""
    scores = score(["x"], ["y" * 300])
    nll, tokens, words = 900.0, 300, 1
    evaluation = Evaluation(perplexity(nll, tokens), perplexity(nll, words), scores, [], 1.0)
    assert evaluation.perplexity_per_word == math.inf
    dev = stored(tmp_path, evaluation).dev
    assert dev is not None
    assert dev.perplexity == math.exp(3)
    assert json.loads((tmp_path / "result.json").read_text())["dev"]["perplexity_per_word"] is None

    test = stored(tmp_path, Evaluation(math.inf, math.inf, scores, [], 1.0)).test
    assert test is not None
    assert test.perplexity is None
    assert test.bleu == scores.bleu
