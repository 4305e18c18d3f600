"""A model that `transformers` made is a run like any other here, with the same logits."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import xformer
from tests.exchange.foreign import logits_of
from xformer import cli
from xformer.exchange.rows import arrange
from xformer.runs.folder import RunFolder

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import MarianConfig, MarianMTModel

TEXT = ["A man sleeps.", "A dog runs home and sleeps.", "Two men run, a dog sleeps."]
END, UNKNOWN, START = "</s>", "<unk>", "<pad>"


def foreign_tokenizer(words: bool = False) -> Tokenizer:
    """Byte-level BPE with Marian's control tokens: the end first, the padding last."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=280,
        special_tokens=[END, UNKNOWN, "<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT * 3, trainer)
    tokenizer.add_tokens([START]) if words else tokenizer.add_special_tokens([START])
    return tokenizer


def make(folder: Path, **changes: Any) -> MarianMTModel:
    """A Marian model with random numbers everywhere, saved by `transformers`."""
    tokenizer = foreign_tokenizer()
    vocabulary = tokenizer.get_vocab_size()
    sizes = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
    stacks = {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in sizes.items()}
    config = {
        "vocab_size": vocabulary, "d_model": 32, "max_position_embeddings": 64, "scale_embedding": True,
        "activation_function": "swish", "pad_token_id": vocabulary - 1, "eos_token_id": 0,
        "decoder_start_token_id": vocabulary - 1, "forced_eos_token_id": 0, **stacks,
    }  # fmt: skip
    torch.manual_seed(0)
    model = MarianMTModel(MarianConfig(**config | changes)).eval()
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name:
            parameter.data += 0.1 * torch.randn_like(parameter)
    model.final_logits_bias.copy_(2 * torch.randn_like(model.final_logits_bias))
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"unk_token": UNKNOWN}))
    return model


def fetch(folder: Path, run: Path) -> int:
    return cli.main(["import", str(folder), "--out", str(run)])


VARIANTS: dict[str, dict[str, Any]] = {
    "as opus-mt": {},
    "relu": {"activation_function": "relu", "scale_embedding": False},
    "gelu": {"activation_function": "gelu"},
    "its own start": {"decoder_start_token_id": 2},
    "embeddings apart": {"share_encoder_decoder_embeddings": False},
    "untied": {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_logits_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    theirs = make(tmp_path / "model", **VARIANTS[name])
    assert fetch(tmp_path / "model", tmp_path / "run") == 0
    ours = xformer.load(tmp_path / "run", device="cpu").trained
    config = theirs.config
    rows = arrange(
        config.vocab_size,
        {0: config.pad_token_id, 1: config.decoder_start_token_id, 2: config.eos_token_id, 3: 1},
    )
    old = torch.tensor(rows.old)
    torch.manual_seed(1)
    source, target = torch.randint(2, len(old), (3, 9)), torch.randint(4, len(old), (3, 7))
    target[:, 0] = 1  # the start
    mask = torch.arange(9)[None] < torch.tensor([9, 6, 2])[:, None]
    expected = theirs(
        input_ids=old[source], attention_mask=mask.long(), decoder_input_ids=old[target]
    ).logits[..., old]
    found = logits_of(ours.model, source, mask, target)
    written = [token for token in range(len(old)) if token not in rows.copies]
    torch.testing.assert_close(found[..., written], expected[..., written], atol=1e-5, rtol=1e-5)
    totals = [logits.logsumexp(-1) for logits in (found, expected[..., written])]
    torch.testing.assert_close(*totals, atol=1e-5, rtol=1e-5)  # copies take no probability
    assert ours.config.model.feedforward.kind == {"swish": "silu"}.get(
        config.activation_function, config.activation_function
    )


def test_its_tokenizer_cuts_as_before_and_its_control_tokens_are_ours(tmp_path: Path) -> None:
    make(tmp_path / "model")
    fetch(tmp_path / "model", tmp_path / "run")
    before, after = foreign_tokenizer(), xformer.load(tmp_path / "run", device="cpu").trained.tokenizer
    lines = [*TEXT, "日本 é", "  two"]
    for line, ids in zip(lines, after.encode(lines), strict=True):
        pieces = before.encode(line, add_special_tokens=False)
        expected = [piece.replace("Ġ", " ") for piece in pieces.tokens]
        assert after.decode([ids]) == [before.decode(pieces.ids)]
        if line.isascii():
            assert [after.piece(token).decode() for token in ids] == expected
    (ids,) = after.encode(["</s> <pad> <unk> ⟨eos⟩"])
    assert min(ids) > 3  # text of control tokens is text


def test_translations_are_those_of_transformers(tmp_path: Path) -> None:
    theirs, before = make(tmp_path / "model"), foreign_tokenizer()
    fetch(tmp_path / "model", tmp_path / "run")
    from xformer.decoding.search import SearchSettings
    from xformer.decoding.translate import one_line

    how = SearchSettings(beam=4, alpha=0.0, extra_length=60, min_length=4, max_length=50)
    found = xformer.load(tmp_path / "run", device="cpu").translate(TEXT, how)
    for line, text in zip(TEXT, found, strict=True):
        ids = torch.tensor([[*before.encode(line).ids, 0]])
        written = theirs.generate(
            ids, num_beams=4, length_penalty=0.0, min_new_tokens=4, max_length=None, max_new_tokens=51,
            suppress_tokens=[1, theirs.config.pad_token_id],
        )  # fmt: skip
        assert text == one_line(before.decode(written[0].tolist()))


def test_commands_take_it_like_any_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "model")
    run = tmp_path / "runs" / "run"
    assert fetch(tmp_path / "model", run) == 0
    source, target = tmp_path / "source", tmp_path / "target"
    for path in (source, target):
        path.write_text("\n".join(TEXT) + "\n")
    short = ("--max-length", "5", "--beam", "2")
    files = ("--input", str(source), "--reference", str(target))
    assert cli.main(["evaluate", str(run), *files, *short]) == 0
    assert list((run / "evaluations").glob("*.json"))
    assert (
        cli.main(["translate", str(run), "--input", str(source), "--output", str(tmp_path / "o"), *short])
        == 0
    )
    assert (tmp_path / "o").read_text().count("\n") == 3
    maps = tmp_path / "maps.json"
    assert cli.main(["attend", str(run), "--source", TEXT[0], "--target", TEXT[1], "--out", str(maps)]) == 0
    assert cli.main(["status", str(tmp_path / "runs")]) == 0
    assert "not trained here" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert cli.main(["evaluate", str(run)]) == 2
    assert "it was imported; give --input FILE and --reference FILE" in capsys.readouterr().err


def test_our_own_export_comes_back(trained: Path, tmp_path: Path) -> None:
    export = ["export", str(trained), "--to", "marian", "--out", str(tmp_path / "marian")]
    assert cli.main(export) == 0
    assert fetch(tmp_path / "marian", tmp_path / "run") == 0
    before, after = (xformer.load(run, device="cpu").trained for run in (trained, tmp_path / "run"))
    assert after.tokenizer.digest == before.tokenizer.digest
    source, target = torch.randint(4, 300, (2, 9)), torch.randint(4, 300, (2, 9))
    mask = torch.ones_like(source).bool()
    found, expected = (logits_of(each.model, source, mask, target) for each in (after, before))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert after.config.model.tying == "three_way"
    assert after.config.model.norm == before.config.model.norm


def refused(folder: Path, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder.parent / "refused"
    assert fetch(folder, run) == 2
    assert message in capsys.readouterr().err
    assert not run.exists()
    assert not list(folder.parent.glob(".*"))


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_a_pickle_is_refused_and_does_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "model"
    make(folder)
    (folder / "model.safetensors").unlink()
    refused(folder, "lacks model.safetensors", capsys)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(tmp_path / "ran")))
    refused(folder, "pytorch_model.bin, a pickle, which can run code", capsys)
    (folder / "pytorch_model.bin").rename(folder / "model.safetensors")
    refused(folder, "cannot be read as safetensors", capsys)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "bart"}, "model_type is 'bart'; only 'marian' can be imported"),
        ({"decoder_layers": 3}, "decoder_layers is 3; only that of encoder_layers, 2"),
        ({"decoder_ffn_dim": 64}, "decoder_ffn_dim is 64"),
        ({"decoder_vocab_size": 99}, "decoder_vocab_size is 99; only that of vocab_size"),
        ({"activation_function": "gelu_new"}, "activation_function gelu_new: known are relu, gelu"),
        ({"encoder_attention_heads": 5, "decoder_attention_heads": 5}, "no multiple of 5 attention heads"),
        ({"d_model": "big"}, "d_model must be a whole number from 1 on, not 'big'"),
        ({"d_model": 64}, "the configuration's"),
        ({"dropout": 1.5}, "dropout must be a number from 0 to less than 1"),
        ({"tie_word_embeddings": False}, "with an output of its own"),
        ({"eos_token_id": None}, "eos_token_id is None; it must be one id"),
        ({"eos_token_id": [0, 1]}, "eos_token_id is [0, 1]; it must be one id"),
        ({"decoder_start_token_id": 5000}, "decoder_start_token_id is 5000"),
    ],
)
def test_another_architecture_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], message: str
) -> None:
    folder = tmp_path / "model"
    make(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    refused(folder, message, capsys)


def test_weights_that_are_missing_foreign_or_contradictory_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    make(folder)
    path = folder / "model.safetensors"
    whole = load_file(path)
    name = "model.encoder.layers.1.fc1.bias"
    positions = "model.encoder.embed_positions.weight"
    for changed, message in (
        ({key: tensor for key, tensor in whole.items() if key != name}, f"the weights lack {name}"),
        (whole | {"model.encoder.layer_norm.weight": torch.ones(32)}, "hold model.encoder.layer_norm.weight"),
        (whole | {name: torch.ones(47)}, f"{name} is (47,), the configuration's (48,)"),
        (whole | {name: torch.ones(48, dtype=torch.long)}, "only floating numbers"),
        (whole | {positions: torch.randn(64, 32)}, f"{positions} holds no sinusoids"),
        (whole | {"lm_head.weight": torch.zeros(281, 32)}, "the configuration ties them"),
    ):
        save_file(changed, path)
        refused(folder, message, capsys)


def test_tokenizers_of_other_kinds_are_refused_with_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    make(folder)
    path = folder / "tokenizer.json"
    whole = json.loads(path.read_text())
    foreign_tokenizer(words=True).save(str(path))
    refused(folder, "has the added words <pad>", capsys)
    path.write_text(json.dumps(whole | {"decoder": None}))
    refused(folder, "only byte-level BPE", capsys)
    Tokenizer(models.Unigram([("a", -1.0)])).save(str(path))
    refused(folder, "is a tokenizer of the kind Unigram; only byte-level BPE", capsys)
    fewer = whole | {"added_tokens": whole["added_tokens"][:-1]}
    path.write_text(json.dumps(fewer))
    refused(folder, "only a model with one row for each", capsys)
    path.unlink()
    (folder / "spiece.model").touch()
    refused(folder, "source.spm, target.spm and vocab.json; it has spiece.model, which", capsys)
    (folder / "source.spm").touch()
    refused(folder, "lacks target.spm", capsys)


def test_nothing_is_written_over_or_downloaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "model")
    run = tmp_path / "run"
    run.mkdir()
    (run / "notes").write_text("precious")
    assert fetch(tmp_path / "model", run) == 2
    assert "is there already" in capsys.readouterr().err
    assert [path.name for path in run.iterdir()] == ["notes"]
    shutil.rmtree(run)
    assert fetch(Path("Helsinki-NLP/opus-mt-en-de"), run) == 2
    assert "never downloaded" in capsys.readouterr().err
    assert RunFolder(run).status() is None
