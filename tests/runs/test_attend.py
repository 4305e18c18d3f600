"""`xformer attend`: from a run folder and a sentence to a file, or to one clear message."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.attention_maps.models import model_of, tokenizer
from tests.model.configs import LEARNED, SMALL
from tests.system.commands import Command
from xformer.cli import main
from xformer.config.compose import compose
from xformer.data.vocabulary import BOS, EOS
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import translate
from xformer.runs.attend import attention_maps
from xformer.runs.folder import RunFolder
from xformer.runs.trained import Trained

LONGEST = 12


@pytest.fixture(scope="module")
def untrained() -> Trained:
    """A model of the tests' own, with learned positions for a few tokens."""
    codec = tokenizer()
    position = replace(LEARNED, max_length=LONGEST)
    model = model_of(replace(SMALL, position=position, tying="none"), codec.vocabulary)
    return Trained(RunFolder(Path("runs/x/y-z")), compose([]), codec, model, 7, 1)


def attend(run: Path, out: Path, *more: str) -> int:
    return main(["attend", str(run), "--out", str(out), *more])


def test_a_given_target_is_read_with_teacher_forcing(untrained: Trained) -> None:
    maps = attention_maps(untrained, "the cat", "a dog")
    (source,), (target,) = untrained.tokenizer.encode(["the cat"]), untrained.tokenizer.encode(["a dog"])
    assert [token.id for token in maps.pair.source] == [*source, EOS]
    assert [token.id for token in maps.pair.target] == [BOS, *target]
    assert (maps.run, maps.update, maps.translated) == ("y-z", 7, False)
    assert [grid.weights_LHTS.shape[:2] for grid in maps.grids] == [(2, 2)] * 3


def test_without_a_target_the_runs_own_translation_is_taken_token_by_token(untrained: Trained) -> None:
    decode = untrained.config.decode
    how = SearchSettings(decode.beam, decode.alpha, decode.extra_length)
    (expected,) = translate(untrained.model, untrained.tokenizer, ["the cat"], how, 1000)
    maps = attention_maps(untrained, "the cat")
    assert maps.translated
    assert maps.target == expected.text
    assert [token.id for token in maps.pair.target] == [BOS, *expected.candidates[0].ids]


@pytest.mark.parametrize("source", ["", " ", "\u3000"])
def test_a_blank_source_has_a_blank_translation_and_still_its_maps(untrained: Trained, source: str) -> None:
    maps = attention_maps(untrained, source)
    assert maps.target == ""
    assert [token.id for token in maps.pair.target] == [BOS]
    assert maps.pair.source[-1].id == EOS
    for grid in maps.grids:
        np.testing.assert_allclose(grid.weights_LHTS.sum(-1), 1, atol=1e-6)


def test_sentences_longer_than_the_positions_are_cut_on_both_sides(untrained: Trained) -> None:
    maps = attention_maps(untrained, "x" * 40, "y" * 50)
    assert len(maps.pair.source) == len(maps.pair.target) == LONGEST
    assert maps.pair.source[-1].id == EOS
    (source,), (target,) = untrained.tokenizer.encode(["x" * 40]), untrained.tokenizer.encode(["y" * 50])
    assert maps.pair.source_cut == len(source) + 1 - LONGEST
    assert maps.pair.target_cut == len(target) + 1 - LONGEST


@pytest.mark.parametrize("text", ["⟨eos⟩ ⟨pad⟩", "</s> <pad>", "漢字 🙂 é", "\x00\x1b[31m", "</script>"])
def test_any_text_has_maps_and_no_control_token_inside(untrained: Trained, text: str) -> None:
    found = attention_maps(
        replace(untrained, model=model_of(SMALL, untrained.tokenizer.vocabulary)), text, text
    )
    inner = [token.id for token in (*found.pair.source[:-1], *found.pair.target[1:])]
    assert min(inner) > 3
    joined = b"".join(untrained.tokenizer.piece(token.id) for token in found.pair.source)
    assert joined == b" " + text.encode()


# --- the command ----------------------------------------------------------------------------


def test_the_command_writes_the_maps_of_a_trained_run(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "maps.json"
    assert attend(trained, out, "--source", "la kob") == 0
    assert capsys.readouterr().out == f"{out}\n"
    data = json.loads(out.read_text())
    assert data["run"] == trained.name
    assert data["update"] == 12
    assert data["averaged_checkpoints"] == 1
    assert {entry["kind"] for entry in data["maps"]} == {"encoder", "decoder", "cross"}
    assert attend(trained, out, "--source", "la kob", "--target", "ap kob", "--average", "2") == 0
    data = json.loads(out.read_text())
    assert data["averaged_checkpoints"] == 2
    assert data["target"]["text"] == "ap kob"
    assert not data["target"]["translated"]
    one = ("--kind", "cross", "--layer", "1", "--head", "2")
    assert attend(trained, out, "--source", "la kob", *one) == 0
    (entry,) = json.loads(out.read_text())["maps"]
    assert (entry["kind"], entry["layer"], entry["head"]) == ("cross", 1, 2)
    assert attend(trained, out, "--source", "la kob", "--layer", "2") == 2
    assert "--layer 2: the model has no such map" in capsys.readouterr().err


def test_what_is_cut_is_told_on_standard_error(
    untrained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("xformer.runs.attend.load", lambda *_, **__: untrained)
    assert attend(tmp_path, tmp_path / "maps.npz", "--source", "x" * 40, "--target", "y") == 0
    (source,) = untrained.tokenizer.encode(["x" * 40])
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert (
        f"the source was longer than the model has positions for: its last {len(source) + 1 - LONGEST} "
        in told
    )


def test_a_run_without_a_checkpoint_is_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unfinished = tmp_path / "unfinished"
    shutil.copytree(trained, unfinished, ignore=shutil.ignore_patterns("*.ckpt"))
    assert attend(unfinished, tmp_path / "maps.html", "--source", "x") == 2
    assert "no checkpoint yet" in capsys.readouterr().err
    assert not (tmp_path / "maps.html").exists()


@pytest.mark.parametrize(("folder", "wrong"), [("nowhere", "no such folder"), ("empty", "not a run folder")])
def test_a_folder_that_is_no_run_is_refused(
    tmp_path: Path, folder: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert attend(tmp_path / folder, tmp_path / "maps.html", "--source", "x") == 2
    assert f"{folder}: {wrong}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "a\nb"], "--source: has 2 lines"),
        (["--source", "a", "--target", "a\nb\nc"], "--target: has 3 lines"),
        (["--source", "caf\udce9"], "--source: is not valid UTF-8"),
    ],
)
def test_text_that_is_no_line_is_refused(
    tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attend(tmp_path, tmp_path / "maps.html", *arguments) == 2
    assert message in capsys.readouterr().err


def test_too_many_checkpoints_to_average_are_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attend(trained, tmp_path / "maps.html", "--source", "x", "--average", "9") == 2
    assert "there are 3" in capsys.readouterr().err


def test_an_unknown_ending_is_refused_before_anything_heavy_is_loaded(
    xformer: Command, tmp_path: Path
) -> None:
    ended = xformer("attend", "nowhere", "--source", "x", "--out", "maps.gif", PYTHONPROFILEIMPORTTIME="1")
    assert ended.returncode == 2
    modules = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if "import time" in line}
    assert "xformer.errors" in modules
    assert not {name.split(".")[0] for name in modules} & {"torch", "lightning", "matplotlib", "numpy"}
    assert (
        "xformer: --out maps.gif: the ending .gif says no known format; use one of .html .png" in ended.stderr
    )
    assert "Traceback" not in ended.stderr


def test_a_diverged_run_is_refused_by_name(
    untrained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = model_of(SMALL, untrained.tokenizer.vocabulary)
    with torch.no_grad():
        broken.encoder.layers[0].attention.input.weight.fill_(float("inf"))
    monkeypatch.setattr("xformer.runs.attend.load", lambda *_, **__: replace(untrained, model=broken))
    assert attend(tmp_path, tmp_path / "maps.html", "--source", "x") == 2
    assert "diverged" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
