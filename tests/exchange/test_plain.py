"""An export in plain files gives the same model back, and is refused where it is damaged or foreign."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import xformer
from tests.exchange.foreign import logits_of
from xformer import cli
from xformer.errors import UserError
from xformer.exchange import plain
from xformer.runs.folder import RunFolder
from xformer.runs.trained import load
from xformer.training.checkpoints import average, list_checkpoints

LINES = ["kob e la tol", " two  spaces", "⟨eos⟩ 日本"]


def export(run: Path, out: Path, *more: str) -> int:
    return cli.main(["export", str(run), "--to", "safetensors", "--out", str(out), *more])


@pytest.fixture
def out(trained: Path, tmp_path: Path) -> Path:
    """The trained run, exported."""
    assert export(trained, tmp_path / "out") == 0
    return tmp_path / "out"


def test_logits_come_back_to_the_bit_and_ids_too(out: Path, trained: Path) -> None:
    ours, back = xformer.load(trained, device="cpu").trained, plain.load(out)
    source, target = torch.randint(4, 300, (3, 9)), torch.randint(4, 300, (3, 7))
    mask = torch.arange(9)[None] < torch.tensor([9, 5, 1])[:, None]
    expected = logits_of(ours.model, source, mask, target)
    assert torch.equal(logits_of(back.model, source, mask, target), expected)
    assert back.config == ours.config.model
    assert back.tokenizer.encode(LINES) == ours.tokenizer.encode(LINES)
    assert not back.model.training


def test_nothing_in_it_is_pickled(out: Path) -> None:
    assert {path.name for path in out.iterdir()} == {*plain.FILES, "export.json"}
    for path in out.iterdir():
        if path.suffix == ".safetensors":
            assert load_file(path)
        else:
            path.read_text(encoding="utf-8")
        assert not path.read_bytes().startswith((b"\x80", b"PK"))


def test_the_average_is_exported_and_told(trained: Path, tmp_path: Path) -> None:
    assert export(trained, tmp_path / "out", "--average", "2") == 0
    mean = average(list_checkpoints(trained / "checkpoints")[-2:])
    state = plain.load(tmp_path / "out").model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in mean.items())
    assert "the mean of its last 2 checkpoints" in (tmp_path / "out" / "README.md").read_text()


def test_every_kind_of_model_can_be_exported(trained: Path, tmp_path: Path) -> None:
    """Here a single stack with learned positions, which Marian has no word for."""
    from dataclasses import replace

    from tests.model.configs import VARIANTS
    from xformer.exchange.folder import Origin
    from xformer.model import build

    run = load(RunFolder(trained))
    for name in ("decoder_only_learned", "llama", "decoder_only_t5"):
        model = build(VARIANTS[name], run.tokenizer.vocabulary)
        config = replace(run.config, model=VARIANTS[name])
        folder = tmp_path / name
        folder.mkdir()
        plain.write(replace(run, model=model, config=config), folder, Origin("safetensors", name, 1, 1))
        back = plain.load(folder)
        assert back.config == VARIANTS[name]
        for key, tensor in model.state_dict().items():
            assert torch.equal(back.model.state_dict()[key], tensor)


def test_a_damaged_export_is_refused_in_one_clear_sentence(out: Path, tmp_path: Path) -> None:
    def broken(name: str, text: bytes | None, message: str) -> None:
        copy = tmp_path / "copy"
        shutil.copytree(out, copy)
        (copy / name).unlink() if text is None else (copy / name).write_bytes(text)
        with pytest.raises(UserError, match=message):
            plain.load(copy)
        shutil.rmtree(copy)

    values = json.loads((out / "config.json").read_text())
    weights = (out / "model.safetensors").read_bytes()
    broken("config.json", None, "no such file")
    broken("config.json", b"{", "cannot be read as JSON")
    broken("config.json", b'{"model_type": "marian"}', "not that of an export")
    broken("config.json", json.dumps(values | {"xformer": 99}).encode(), "use a newer one")
    broken("config.json", json.dumps(values | {"vocabulary": 301}).encode(), "has 300 tokens")
    wrong = values | {"model": values["model"] | {"heads": 0}}
    broken("config.json", json.dumps(wrong).encode(), r"model\.heads: .* not 0")
    wide = values | {"model": values["model"] | {"d_ff": 33}}
    broken("config.json", json.dumps(wide).encode(), "does not fit the model")
    broken("model.safetensors", None, "no such file")
    broken("model.safetensors", weights[:200], "cannot be read as safetensors")
    broken("tokenizer.json", b"{}", "not a tokenizer")


def test_a_missing_weight_is_named(out: Path) -> None:
    path = out / "model.safetensors"
    tensors = load_file(path)
    del tensors["encoder.layers.0.feedforward.inner.bias"]
    save_file(tensors, path)
    with pytest.raises(UserError, match=r"lacks encoder\.layers\.0\.feedforward\.inner\.bias"):
        plain.load(out)
