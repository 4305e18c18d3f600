"""A run on real text, from files to scores, where the environment names a folder of some (`XFORMER_DATA`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.commands import SMALL, Command

pytestmark = pytest.mark.skipif("XFORMER_DATA" not in os.environ, reason="XFORMER_DATA names no folder")

HERE = [word for word in SMALL if not word.startswith("data.")]


def test_scores_of_real_text_are_what_sacrebleu_prints_for_it(xformer: Command, tmp_path: Path) -> None:
    folder = Path(os.environ["XFORMER_DATA"]) / "multi30k"
    corpus = [
        "data=files",
        f"data.dir={folder}",
        "data.source=en",
        "data.target=de",
        "data.valid=test_2017_mscoco",
    ]
    ended = xformer("train", *HERE, *corpus)
    assert ended.returncode == 0, ended.stderr
    (run,) = (tmp_path / "runs" / "custom").iterdir()
    ended = xformer("evaluate", str(run), "--split", "test_2017_flickr", "--beam", "1")
    assert ended.returncode == 0, ended.stderr
    (scored,) = (run / "evaluations").glob("*.json")
    further = json.loads(scored.read_text())["splits"]["test_2017_flickr"]
    results = {
        "test.de": (run / "hypotheses" / "test.txt", json.loads((run / "result.json").read_text())["test"]),
        "test_2017_flickr.de": (scored.with_suffix(".test_2017_flickr.txt"), further),
    }
    for reference, (hypotheses, scores) in results.items():
        assert scores["sentences"] == 1000
        for metric in ("bleu", "chrf"):
            command = [sys.executable, "-m", "sacrebleu", folder / reference, "-i", hypotheses, "-m", metric]
            printed = subprocess.run([*command, "-w", "8", "-b"], capture_output=True, text=True, check=True)
            assert float(printed.stdout) == pytest.approx(scores[metric], abs=1e-8)
