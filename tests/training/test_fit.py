"""A run from its beginning to its outcome: finished, stopped, diverged, refused."""

from __future__ import annotations

import dataclasses
import logging
import math
import resource
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.runs import checkpoint, rows, small_run, stop_after, train
from xformer.errors import UserError
from xformer.model import build
from xformer.training import bookkeeping, divergence
from xformer.training.checkpoints import list_checkpoints, load_weights, put_weights
from xformer.training.fit import Progress
from xformer.training.module import TranslationModule


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fit")


def names(folder: Path) -> list[str]:
    return [path.name for path in list_checkpoints(folder / "checkpoints")]


def test_the_last_checkpoints_are_kept_the_newest_at_the_last_update(place: Path) -> None:
    config, prepared = small_run(
        place, trainer__updates=17, trainer__checkpoint_every=5, trainer__keep_checkpoints=3
    )
    outcome = train(config, prepared, place / "kept")
    assert names(place / "kept") == [f"update-{update:08d}.ckpt" for update in (10, 15, 17)]
    assert (outcome.state, outcome.reason, outcome.updates) == ("finished", None, 17)
    assert sorted(path.name for path in (place / "kept").iterdir()) == ["checkpoints", "metrics.csv"]


def test_a_row_an_interval_and_one_wherever_the_dev_set_was_looked_at(place: Path) -> None:
    config, prepared = small_run(place, trainer__updates=14, trainer__log_every=4, trainer__validate_every=6)
    outcome = train(config, prepared, place / "rows")
    found = rows(place / "rows")
    assert [row["update"] for row in found] == ["4", "6", "8", "12", "14"]
    assert [row["update"] for row in found if row["dev_bleu"]] == ["6", "12", "14"]
    assert outcome.epochs == pytest.approx(float(found[-1]["epoch"]))
    assert outcome.peak_memory_bytes > 1e7
    assert 0 < outcome.padding_share < 0.4  # sentences of 1 to 8 digits, side by side by length
    losses = [float(row["loss"]) for row in found]
    assert losses[-1] < losses[0]
    assert all(float(row["nll"]) < float(row["loss"]) for row in found[-2:])


def test_tokens_are_the_real_ones_of_both_sides(place: Path) -> None:
    config, prepared = small_run(place, trainer__updates=14)  # one epoch
    train(config, prepared, place / "tokens")
    last = rows(place / "tokens")[-1]
    assert last["epoch"] == "1"
    assert int(last["tokens"]) == prepared.train.source_lengths.sum() + prepared.train.target_lengths.sum()


def test_a_checkpoint_holds_the_model_and_says_whose_it_is(place: Path) -> None:
    config, prepared = small_run(place)
    train(config, prepared, place / "header")
    assert checkpoint(place / "header", 20)["xformer"] == {
        "format": 1,
        "update": 20,
        "tokenizer_hash": prepared.tokenizer_hash,
    }
    assert checkpoint(place / "header", 20)["global_step"] == 20
    path = list_checkpoints(place / "header" / "checkpoints")[-1]
    put_weights(build(config.model, prepared.tokenizer.vocabulary), load_weights(path), path)


def test_a_run_is_the_same_when_it_is_run_again_and_another_with_another_seed(place: Path) -> None:
    losses = []
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        train(*small_run(place, seed=seed), place / name)
        losses.append([row["loss"] for row in rows(place / name)])
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]


def test_a_stop_finishes_the_update_and_writes_its_checkpoint(place: Path) -> None:
    outcome = train(*small_run(place), place / "stopped", stop=stop_after(7))
    assert (outcome.state, outcome.updates) == ("interrupted", 7)
    assert outcome.reason == "stopped after update 7"
    assert names(place / "stopped") == ["update-00000007.ckpt"]


def test_clipping_bounds_what_adam_sees_and_the_row_shows_the_norm_before(place: Path) -> None:
    free, clipped = (
        train(*small_run(place, optim__gradient_clip=limit, trainer__updates=1), place / f"clip{limit}")
        and checkpoint(place / f"clip{limit}", 1)
        for limit in (None, 1e-3)
    )

    def norm(content: dict[str, Any]) -> float:
        moments = content["optimizer_states"][0]["state"].values()
        return math.sqrt(sum(float(each["exp_avg"].square().sum()) for each in moments)) / (1 - 0.9)

    assert norm(clipped) == pytest.approx(1e-3, rel=1e-3)
    assert float(rows(place / "clip0.001")[0]["gradient_norm"]) == pytest.approx(norm(free), rel=1e-5)


# --- divergence ---


def test_a_loss_that_stays_above_ignorance_is_an_outcome(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(divergence, "PATIENCE", 5)
    config, prepared = small_run(place, optim__learning_rate_multiplier=300.0, optim__warmup_updates=1)
    outcome = train(config, prepared, place / "high")
    assert outcome.state == "diverged"
    assert outcome.reason is not None
    assert f"at update {outcome.updates} (gradient norm" in outcome.reason
    assert 6 <= outcome.updates < 20
    assert rows(place / "high")[-1]["update"] == str(outcome.updates)


@pytest.mark.parametrize("free", [True, False], ids=["read at once", "read at the row"])
def test_the_first_update_that_is_no_number_is_named_and_never_stored(
    place: Path, monkeypatch: pytest.MonkeyPatch, free: bool
) -> None:
    sums = TranslationModule.micro_batch_sums
    seen: list[int] = []

    def spoiled(self: TranslationModule, batch: Any) -> Any:
        seen.append(self.trainer.global_step)
        loss, nll = sums(self, batch)
        return (loss * math.nan, nll) if self.trainer.global_step == 12 else (loss, nll)

    monkeypatch.setattr(TranslationModule, "micro_batch_sums", spoiled)
    monkeypatch.setattr(bookkeeping.Bookkeeping, "_reading_is_free", lambda self: free)
    outcome = train(*small_run(place), place / f"nan{free}")
    assert (outcome.state, outcome.updates) == ("diverged", 13)
    assert outcome.reason is not None
    assert "not finite at update 13" in outcome.reason
    assert names(place / f"nan{free}") == ["update-00000010.ckpt"]
    assert [row["update"] for row in rows(place / f"nan{free}")] == ["5", "10", "13"]
    assert max(seen) == (12 if free else 14)


# --- what others hear ---


def test_progress_is_reported_with_all_there_is_to_say(place: Path) -> None:
    heard: list[Progress] = []
    train(*small_run(place), place / "heard", report=heard.append)
    assert heard
    first = heard[0]
    assert (first.phase, first.updates, first.updates_planned, first.epoch) == ("training", 1, 20, 0)
    assert first.loss > 1
    assert first.tokens_per_second > 0
    assert first.seconds_left > 0


def test_trackers_get_every_row(place: Path) -> None:
    heard: dict[int, dict[str, float]] = {}
    train(
        *small_run(place),
        place / "tracked",
        track=lambda values, update: heard.update({update: values}),
    )
    assert list(heard) == [5, 10, 15, 20]
    assert "dev_bleu" in heard[10]
    assert "dev_bleu" not in heard[15]


def test_two_hundred_updates_leave_a_short_log_and_no_warning(
    place: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    config, prepared = small_run(place, trainer__updates=200, trainer__log_every=1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        train(config, prepared, place / "quiet")
    lines = [record.getMessage() for record in caplog.records]
    assert sum(map(len, lines)) < 10_000
    assert len(set(lines)) == len(lines)
    assert {record.name.split(".")[0] for record in caplog.records} == {"xformer"}
    assert [str(warning.message) for warning in warned] == []
    assert capfd.readouterr() == ("", "")


# --- what is refused ---


def test_a_full_disk_ends_the_run_with_the_path_and_keeps_the_last_checkpoint(place: Path) -> None:
    config, prepared = small_run(place, trainer__checkpoint_every=10)
    folder = place / "full"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def stop() -> None:
        if names(folder):  # the first is written: now the disk fills up
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))

    try:
        with pytest.raises(UserError, match=r"update-00000020\.ckpt.*disk"):
            train(config, prepared, folder, stop=stop)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["update-00000010.ckpt"]
    assert train(config, prepared, folder).state == "finished"


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_done(place: Path) -> None:
    (place / "file").write_text("in the way")
    with pytest.raises(UserError, match="nothing can be written"):
        train(*small_run(place), place / "file", stop=lambda: pytest.fail("an update was made"))


def test_checkpoints_of_another_tokenizer_are_refused(place: Path) -> None:
    config, prepared = small_run(place)
    train(config, prepared, place / "tokenizer")
    other = dataclasses.replace(prepared, tokenizer_hash="other")
    with pytest.raises(UserError, match="another tokenizer"):
        train(config, other, place / "tokenizer")


# --- precision ---


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_weights_and_moments_are_kept_in_single_precision(place: Path, precision: str) -> None:
    train(*small_run(place, trainer__precision=precision, trainer__updates=3), place / precision)
    content = checkpoint(place / precision, 3)
    assert {tensor.dtype for tensor in content["state_dict"].values()} == {torch.float32}
    for state in content["optimizer_states"][0]["state"].values():
        assert state["exp_avg"].dtype == state["exp_avg_sq"].dtype == torch.float32


def test_bfloat16_learns_as_single_precision_does(place: Path) -> None:
    losses = []
    for precision in ("fp32", "bf16"):
        train(*small_run(place, trainer__precision=precision), place / f"learn_{precision}")
        losses.append([float(row["loss"]) for row in rows(place / f"learn_{precision}")])
    assert losses[1] == pytest.approx(losses[0], rel=0.03)
    assert losses[1] != losses[0]
