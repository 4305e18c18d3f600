"""`xformer evaluate` on lengths, joined lines and any two files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from xformer import cli
from xformer.config import schema
from xformer.data.corpus import read_lines
from xformer.runs.folder import RunFolder
from xformer.runs.further_metrics import METRICS, FurtherMetric
from xformer.scoring.table2 import LABEL, tokenised_bleu


def scores(run: Path) -> dict:
    (path,) = (run / "evaluations").glob("*.json")
    return json.loads(path.read_text())["splits"]


def sacrebleu(reference: Path, hypotheses: Path, metric: str) -> float:
    command = [sys.executable, "-m", "sacrebleu", str(reference), "-i", str(hypotheses), "-m", metric]
    printed = subprocess.run([*command, "-w", "12", "-b"], capture_output=True, text=True, check=True)
    return float(printed.stdout)


def test_lengths_beyond_training_are_scored_apart(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", str(run), "--split", "test", "--split", "long"]) == 0
    longest = json.loads((run / "result.json").read_text())["longest_source"]
    for split, sentences in (("test", 15), ("long", 5)):
        found = scores(run)[split]
        assert found["longest_trained"] == longest
        buckets = found["by_source_length"]
        assert sum(bucket["sentences"] for bucket in buckets) == sentences
        assert all(set(bucket) >= {"from", "to", "bleu", "chrf", "ter"} for bucket in buckets)
    assert [bucket["beyond_training"] for bucket in scores(run)["long"]["by_source_length"]][-1]
    assert not scores(run)["test"]["by_source_length"][0]["beyond_training"]
    assert "longer than any trained on" in capsys.readouterr().out


def test_scores_of_a_run_that_has_gone_on_never_stand_beside_those_from_before(run: Path) -> None:
    newest = run / "checkpoints" / "update-00000012.ckpt"
    newest.rename("aside")
    assert cli.main(["evaluate", str(run), "--split", "test", "--split", "long"]) == 0
    (path,) = (run / "evaluations").glob("*.json")
    assert json.loads(path.read_text())["update"] == 8
    Path("aside").rename(newest)
    assert cli.main(["evaluate", str(run), "--split", "test"]) == 0
    assert json.loads(path.read_text())["update"] == 12
    assert scores(run).keys() == {"test"}
    assert not list((run / "evaluations").glob("*.long.*"))
    assert cli.main(["evaluate", str(run), "--split", "long"]) == 0
    assert scores(run).keys() == {"test", "long"}


def test_dev_is_stored_under_the_name_that_claims_look_for(run: Path) -> None:
    assert cli.main(["evaluate", str(run), "--split", "dev", "--beam", "2"]) == 0
    assert scores(run).keys() == {"valid"}


def test_a_metric_that_fails_costs_no_score(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(scored: object) -> dict[str, float]:
        raise RuntimeError("no route")

    monkeypatch.setitem(METRICS, "comet", FurtherMetric(lambda language: None, fails))
    with pytest.raises(RuntimeError):
        cli.main(["evaluate", str(run), "--metric", "comet"])
    assert scores(run).keys() == {"test"}


def test_joined_neighbours_are_a_test_set_of_their_own(run: Path) -> None:
    assert cli.main(["evaluate", str(run), "--join", "4"]) == 0
    found = scores(run)["test.join4"]
    assert found["sentences"] == 4  # of 15 lines
    (hypotheses,) = (run / "evaluations").glob("*.test.join4.txt")
    reference = run / "evaluations" / "test.join4.reference.txt"
    (lines,) = Path("runs/.cache/corpora").glob("*/test.qno")
    assert read_lines(reference)[0] == " ".join(read_lines(lines)[:4])
    assert sacrebleu(reference, hypotheses, "chrf") == pytest.approx(found["chrf"], abs=1e-10)


def test_named_files_score_as_the_sacrebleu_command_scores_them(run: Path) -> None:
    # Training has taught this model next to nothing: its own hypotheses, marred, make scores that tell.
    source = read_lines(next(Path("runs/.cache/corpora").glob("*/test.qma")))
    hypotheses = read_lines(run / "hypotheses" / "test.txt")
    Path("news.src").write_text("".join(f"{line}\n" for line in source))
    marred = [f"{line}  x" if i % 3 else line for i, line in enumerate(hypotheses)]
    Path("news.ref").write_text("".join(f"{line}\n" for line in marred))
    shutil.rmtree("runs/.cache")  # the corpus is not needed
    assert cli.main(["evaluate", str(run), "--input", "news.src", "--reference", "news.ref"]) == 0
    ((name, found),) = scores(run).items()
    assert name.startswith("news.src-")
    (stored,) = (run / "evaluations").glob(f"*.{name}.txt")
    assert read_lines(stored) == hypotheses
    for metric in ("bleu", "chrf", "ter"):
        assert sacrebleu(Path("news.ref"), stored, metric) == pytest.approx(found[metric], abs=1e-10)
    assert 10 < found["bleu"] < 100
    assert found["longest_trained"] == json.loads((run / "result.json").read_text())["longest_source"]
    assert not Path("runs/.cache").exists()


def test_tokenised_bleu_stands_apart_and_is_labelled(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = RunFolder(run).config()
    german = schema.FilesData(
        kind="files", dir="nowhere", source="en", target="de",
        train="train", valid="valid", test="test", max_length=100,
    )  # fmt: skip
    RunFolder(run).freeze(replace(config, data=german))
    lines = read_lines(run / "hypotheses" / "test.txt")
    references = [f"{line} E-Mail-Konto" for line in lines]
    Path("news.en").write_text("".join(f"{line}\n" for line in lines))
    Path("news.de").write_text("".join(f"{line}\n" for line in references))
    files = ["--input", "news.en", "--reference", "news.de"]
    assert cli.main(["evaluate", str(run), *files, "--metric", "tokenised_bleu"]) == 0
    ((name, found),) = scores(run).items()
    (stored,) = (run / "evaluations").glob(f"*.{name}.txt")
    expected = tokenised_bleu(read_lines(stored), references, "de")
    assert found["tokenised_bleu"] == asdict(expected)
    assert found["bleu"] != expected.score
    assert f"{expected.score:.4f}  {LABEL}  tok:moses-de|compounds:split" in capsys.readouterr().out


def test_a_named_test_set_is_scored_and_its_references_are_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = ["A dog.", "A cat."], ["Ein Hund.", "Eine Katze."]
    monkeypatch.setattr("xformer.runs.evaluating.named_set", lambda name, pair: sides)
    assert cli.main(["evaluate", str(run), "--testset", "wmt14/full", "--langpair", "en-de"]) == 0
    assert scores(run)["wmt14-full.en-de"]["sentences"] == 2
    assert read_lines(run / "evaluations" / "wmt14-full.en-de.reference.txt") == sides[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "x"], "belong together"),
        (["--reference", "x"], "belong together"),
        (["--input", "x", "--reference", "y", "--split", "test"], "two choices"),
        (["--join", "0"], "--join 0"),
        (["--testset", "wmt14"], "belong together"),
        (["--langpair", "en-de"], "belong together"),
        (["--testset", "wmt14", "--langpair", "en-de", "--split", "test"], "choices of what to score"),
        (["--testset", "wmt14", "--langpair", "en-it"], "--langpair en-it: wmt14 has"),
        (["--metric", "tokenised_bleu"], "the built-in language has none"),
        (["--input", "nowhere", "--reference", "nowhere"], "nowhere"),
        (["--alpha", "-1"], "--alpha -1"),
    ],
)
def test_what_makes_no_sense_is_refused(
    trained: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.main(["evaluate", str(trained), *arguments]) == 2
    assert message in capsys.readouterr().err
