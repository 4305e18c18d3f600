"""Checkpoint files: names, safe reading, weights, averages, how many are kept."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from xformer.errors import UserError
from xformer.training import checkpoints
from xformer.training.checkpoints import (
    average,
    list_checkpoints,
    load_weights,
    newest_loadable,
    path_of,
    prune,
    put_weights,
    read_checkpoint,
    remove_unfinished,
)


def weights(value: float = 1.0) -> dict[str, Tensor]:
    return {"weight": torch.full((2, 3), value), "bias": torch.full((2,), -value)}


def write(folder: Path, update: int, stored: dict[str, Tensor] | None = None, prefix: str = "model.") -> Path:
    path = path_of(folder, update)
    state = {prefix + name: tensor for name, tensor in (stored or weights()).items()}
    torch.save({"xformer": checkpoints.header(update, "abc"), "state_dict": state}, path)
    return path


class Payload:
    """Unpickled by a careless loader, it creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


# --- names ---


def test_names_say_the_update_and_sort_by_it(tmp_path: Path) -> None:
    assert path_of(tmp_path, 1000).name == "update-00001000.ckpt"
    for update in (100_000_000, 5, 99_999_999, 1000):
        write(tmp_path, update)
    found = list_checkpoints(tmp_path)
    assert [checkpoints.update_of(path) for path in found] == [5, 1000, 99_999_999, 100_000_000]


def test_other_files_and_unfinished_ones_are_no_checkpoints(tmp_path: Path) -> None:
    for name in (
        ".update-00000010.ckpt.x1.partial",
        "update-10.ckpt",
        "last.ckpt",
        "update-00000010.ckpt.tmp",
    ):
        (tmp_path / name).write_bytes(b"")
    assert list_checkpoints(tmp_path) == []
    assert list_checkpoints(tmp_path / "missing") == []
    with pytest.raises(UserError, match="not named like a checkpoint"):
        checkpoints.update_of(tmp_path / "last.ckpt")


# --- reading ---


def test_a_checkpoint_that_would_run_code_is_refused_and_the_code_not_run(tmp_path: Path) -> None:
    victim = tmp_path / "created"
    path = path_of(tmp_path, 10)
    torch.save({"xformer": checkpoints.header(10, "abc"), "state_dict": {}, "x": Payload(victim)}, path)
    for read in (read_checkpoint, load_weights, lambda path: read_checkpoint(path, mapped=False)):
        with pytest.raises(UserError, match="could run code"):
            read(path)
    assert not victim.exists()
    torch.load(path, weights_only=False)
    assert victim.exists(), "the payload is harmless and the test shows nothing"


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_torn_checkpoint_is_refused(tmp_path: Path, share: float, mapped: bool) -> None:
    path = write(tmp_path, 10)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UserError, match="torn or of another kind"):
        read_checkpoint(path, mapped=mapped)


@pytest.mark.parametrize("content", [{"state_dict": {}}, [1, 2], {"xformer": {"format": 1}}])
def test_a_file_of_another_program_is_refused(tmp_path: Path, content: Any) -> None:
    torch.save(content, tmp_path / "update-00000010.ckpt")
    with pytest.raises(UserError, match="not a checkpoint of xformer"):
        read_checkpoint(tmp_path / "update-00000010.ckpt")


def test_text_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ckpt").write_text("hello\n" * 100)
    with pytest.raises(UserError, match=r"a\.ckpt"):
        read_checkpoint(tmp_path / "a.ckpt")
    with pytest.raises(UserError, match="no checkpoint"):
        read_checkpoint(tmp_path / "b.ckpt")


def test_torn_ones_are_passed_over_with_a_line_each(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="xformer")
    good = write(tmp_path, 10)
    for update in (20, 30):
        path_of(tmp_path, update).write_bytes(good.read_bytes()[:-50])
    assert newest_loadable(tmp_path) == good
    assert [record.getMessage().split(": ")[0] for record in caplog.records] == ["passed over"] * 2
    good.unlink()
    assert newest_loadable(tmp_path) is None


def test_one_from_a_newer_xformer_is_not_passed_over_but_stops(tmp_path: Path) -> None:
    write(tmp_path, 10)
    later = {**checkpoints.header(20, "abc"), "format": checkpoints.FORMAT + 1}
    torch.save({"xformer": later, "state_dict": {}}, path_of(tmp_path, 20))
    with pytest.raises(UserError, match="format"):
        newest_loadable(tmp_path)


# --- weights ---


def test_weights_come_back_under_the_plain_models_names(tmp_path: Path) -> None:
    found = load_weights(write(tmp_path, 10))
    assert found.keys() == weights().keys()
    assert torch.equal(found["weight"], weights()["weight"])


@pytest.mark.parametrize("prefix", ["model._orig_mod.", "_orig_mod.model.", "_orig_mod."])
def test_weights_saved_compiled_load_into_a_plain_model(tmp_path: Path, prefix: str) -> None:
    model = nn.Linear(3, 2)
    put_weights(model, load_weights(write(tmp_path, 10, prefix=prefix)), "it")
    assert torch.equal(model.weight, weights()["weight"])


def test_weights_saved_plain_load_into_a_compiled_model(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    compiled = torch.compile(model, backend="eager")
    assert any("_orig_mod" in name for name in compiled.state_dict())
    put_weights(compiled, load_weights(write(tmp_path, 10)), "it")  # type: ignore[arg-type]
    assert torch.equal(model.weight, weights()["weight"])


def test_a_missing_an_extra_and_a_misshapen_weight_are_refused_by_name() -> None:
    model, before = nn.Linear(3, 2), weights()
    put_weights(model, before, "it")
    lacking = {"weight": torch.zeros(2, 3)}
    extra = {**weights(0.0), "colour": torch.zeros(1)}
    misshapen = {**weights(0.0), "bias": torch.zeros(3)}
    for wrong, message in (
        (lacking, "lacks bias"),
        (extra, "unknown colour"),
        (misshapen, r"bias is \(3,\)"),
    ):
        with pytest.raises(UserError, match=f"this one does not fit.*{message}"):
            put_weights(model, wrong, "this one")
    assert torch.equal(model.weight, before["weight"]), "a refused checkpoint must leave the model alone"


def test_the_average_is_the_mean_and_whole_numbers_come_from_the_last(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, update, {"w": torch.full((2,), float(update)), "n": torch.tensor(update)})
        for update in (1, 2, 6)
    ]
    found = average(paths)
    assert found["w"].tolist() == [3.0, 3.0]
    assert found["n"].item() == 6


def test_the_average_of_low_precision_weights_is_taken_in_single(tmp_path: Path) -> None:
    values = (1.0, 1.0, 1.0078125)
    paths = [
        write(tmp_path, i + 1, {"w": torch.tensor([value], dtype=torch.bfloat16)})
        for i, value in enumerate(values)
    ]
    assert average(paths)["w"].dtype == torch.float32
    assert average(paths)["w"].item() == pytest.approx(sum(values) / 3, rel=1e-6)


def test_what_does_not_match_has_no_average(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no checkpoint to average"):
        average([])
    with pytest.raises(UserError, match="different weights"):
        average([write(tmp_path, 1), write(tmp_path, 2, {"other": torch.zeros(1)})])


# --- keeping ---


def kept(folder: Path) -> list[int]:
    return [checkpoints.update_of(path) for path in list_checkpoints(folder)]


def test_the_newest_are_kept_and_those_of_interruptions_go(tmp_path: Path) -> None:
    for update in (10, 20, 23, 30, 37):
        write(tmp_path, update)
    prune(tmp_path, newest=37, keep=3, every=10)
    assert kept(tmp_path) == [20, 30, 37]
    write(tmp_path, 40)
    prune(tmp_path, newest=40, keep=3, every=10)
    assert kept(tmp_path) == [20, 30, 40]


def test_a_file_beyond_the_newest_never_displaces_a_good_one(tmp_path: Path) -> None:
    for update in (10, 20, 50):
        write(tmp_path, update)
    prune(tmp_path, newest=20, keep=2, every=10)
    assert kept(tmp_path) == [10, 20, 50]


def test_what_a_killed_process_left_unfinished_is_removed(tmp_path: Path) -> None:
    write(tmp_path, 10)
    (tmp_path / ".update-00000020.ckpt.abc.partial").write_bytes(b"half")
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["update-00000010.ckpt"]
