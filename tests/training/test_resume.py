"""A run stopped and resumed equals the unbroken one, bit for bit (fault S08, decision 3)."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.runs import checkpoint, rows, small_run, stop_after, train, write_corpus
from xformer.training.checkpoints import list_checkpoints, path_of
from xformer.training.fit import FitResult

CLOCKED = {"tokens_per_second", "seconds", "peak_memory"}  # the only values that may differ

# Seven updates an epoch: stops after updates 4, 10 and 16 are in mid-epoch and in three different epochs,
# before a row, at one with a look at the dev set, and after one.
SETTINGS: dict[str, Any] = {"model__dropout": 0.3, "trainer__keep_checkpoints": 3}


def without_clock(value: Any) -> Any:
    """Plain values without those that a clock gave; tensors as lists, for comparing bit for bit."""
    if isinstance(value, dict):
        return {key: without_clock(each) for key, each in value.items() if key not in CLOCKED}
    if isinstance(value, list | tuple):
        return [without_clock(each) for each in value]
    return value.tolist() if isinstance(value, torch.Tensor) else value


def state(folder: Path, update: int) -> Any:
    """What a checkpoint holds save Lightning's own counters."""
    content = checkpoint(folder, update)
    return without_clock({key: value for key, value in content.items() if key != "loops"})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("resume")
    write_corpus(place / "corpus", pairs=130)
    return place


@pytest.fixture(scope="module")
def unbroken(place: Path) -> Path:
    config, prepared = small_run(place, **SETTINGS)
    train(config, prepared, place / "unbroken")
    return place / "unbroken"


def run(place: Path, name: str, **arguments: Any) -> FitResult:
    return train(*small_run(place, **SETTINGS), place / name, **arguments)


def assert_same(folder: Path, unbroken: Path) -> None:
    assert without_clock(rows(folder)) == without_clock(rows(unbroken))
    names = [path.name for path in list_checkpoints(unbroken / "checkpoints")]
    assert [path.name for path in list_checkpoints(folder / "checkpoints")] == names
    for update in (10, 20):
        assert state(folder, update) == state(unbroken, update)


@pytest.mark.parametrize("stops", [[4], [10], [16], [10, 1], [1, 1, 1], [6, 7]], ids=str)
def test_stopped_and_resumed_equals_unbroken(place: Path, unbroken: Path, stops: list[int]) -> None:
    name = f"stopped{'_'.join(map(str, stops))}"
    for count in stops:
        outcome = run(place, name, stop=stop_after(count))
        assert outcome.state == "interrupted"
        assert list_checkpoints(place / name / "checkpoints")[-1].name.endswith(f"{outcome.updates:08d}.ckpt")
    assert run(place, name).state == "finished"
    assert_same(place / name, unbroken)


def test_dropout_was_on_and_the_run_had_several_epochs_and_micro_batches(unbroken: Path, place: Path) -> None:
    # Else the tests above would show less than they say.
    assert float(rows(unbroken)[-1]["epoch"]) > 2
    other = small_run(place, **SETTINGS, seed=2)
    train(*other, place / "other")
    assert state(place / "other", 20) != state(unbroken, 20)
    dry = small_run(place, **{**SETTINGS, "model__dropout": 0.0})
    train(*dry, place / "dry")
    assert state(place / "dry", 20) != state(unbroken, 20)


def test_killed_without_a_word_it_goes_on_from_the_last_checkpoint(place: Path, unbroken: Path) -> None:
    folder = place / "killed"
    run(place, "killed")
    path_of(folder / "checkpoints", 20).unlink()
    metrics = folder / "metrics.csv"  # rows up to 15, and half of the next
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:4]) + "20,35")
    run(place, "killed")
    assert_same(folder, unbroken)


def test_killed_while_looking_at_the_dev_set_it_looks_again(place: Path, unbroken: Path) -> None:
    folder = place / "killed_looking"
    run(place, "killed_looking")
    metrics = folder / "metrics.csv"  # both checkpoints written, the last row not
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:4]))
    assert run(place, "killed_looking").state == "finished"
    assert_same(folder, unbroken)


def test_a_stop_while_looking_at_the_dev_set_leaves_the_look_to_the_next_start(
    place: Path, unbroken: Path
) -> None:
    # One call after each of ten updates; the eleventh comes between batches of the dev set.
    outcome = run(place, "stopped_looking", stop=stop_after(11))
    assert (outcome.state, outcome.updates) == ("interrupted", 10)
    assert [row["update"] for row in rows(place / "stopped_looking")] == ["5"]
    run(place, "stopped_looking")
    assert_same(place / "stopped_looking", unbroken)


def test_a_torn_newest_checkpoint_is_passed_over(place: Path, unbroken: Path) -> None:
    folder = place / "torn"
    run(place, "torn")
    newest = path_of(folder / "checkpoints", 20)
    newest.write_bytes(newest.read_bytes()[:-100])
    run(place, "torn")
    assert_same(folder, unbroken)


def test_a_finished_run_is_finished_at_once(place: Path, unbroken: Path) -> None:
    before = (unbroken / "metrics.csv").read_bytes()
    outcome = run(place, "unbroken", stop=lambda: pytest.fail("an update was made"))
    assert (outcome.state, outcome.updates) == ("finished", 20)
    assert outcome.train_tokens_per_second > 0
    assert (unbroken / "metrics.csv").read_bytes() == before


def test_a_handler_for_the_signal_that_asks_to_stop_is_left_in_place(place: Path) -> None:
    asked: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))

    def stop() -> int | None:
        if len(asked) == 0:
            signal.raise_signal(signal.SIGTERM)
        return asked[0] if asked else None

    try:
        assert run(place, "signal", stop=stop).state == "interrupted"
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked == [signal.SIGTERM]
