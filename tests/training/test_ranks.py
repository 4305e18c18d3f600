"""Two processes under torchrun do what one does (docs/design.md, decisions 1 and 2; faults S09 to S12)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.runs import adam_moments, checkpoint, rows, small_run, stop_after, train, write_corpus
from xformer.training.checkpoints import list_checkpoints
from xformer.training.ranks import Ranks

# Dropout is on: the masks, too, must be the same however the micro-batches are dealt.
MANY: dict[str, Any] = {
    "trainer__precision": "fp64",
    "model__dropout": 0.3,
    "batch__tokens_per_update": 150,
    "batch__tokens_per_device": 40,
    "optim__gradient_clip": 0.5,
    "trainer__updates": 12,
    "trainer__validate_every": 6,
    "trainer__checkpoint_every": 6,
    "trainer__validation_sentences": 5,  # an odd number: a sampler that evens out would repeat one
}
LONE = {**MANY, "batch__tokens_per_device": 400}  # one micro-batch an update: the second rank has none
CASES: dict[str, dict[str, Any]] = {
    "many": {"changes": MANY},
    "lone": {"changes": LONE},
    "moved": {"changes": MANY},  # begun by one process, stopped, continued by two
    "stopped": {"changes": MANY, "stop": [1, 2]},  # the second rank only, at the second of its calls
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each case run by two ranks and, beside it, by one."""
    place = tmp_path_factory.mktemp("ranks")
    write_corpus(place / "corpus", pairs=100)
    for name, case in CASES.items():
        train(*small_run(place, **case["changes"]), place / f"{name}_alone")
    train(*small_run(place, **MANY), place / "moved", stop=stop_after(4))
    cases = {
        name: {**case, "changes": {**case["changes"], "trainer__devices": 2}} for name, case in CASES.items()
    }
    # A process joins one group in its life, as in real use: each case has processes of its own.
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    started = [
        subprocess.Popen(
            [*torchrun, "-m", "tests.training.one_rank", str(place / name), json.dumps(case)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for name, case in cases.items()
    ]
    for ranks in started:
        _, errors = ranks.communicate(timeout=200)
        assert ranks.returncode == 0, errors[-3000:]
    return place


@pytest.mark.parametrize("name", ["many", "lone"])
def test_two_ranks_make_the_gradients_of_one(place: Path, name: str) -> None:
    for update in (6, 12):
        found, expected = (adam_moments(place / which, update) for which in (name, f"{name}_alone"))
        for one, other in zip(found, expected, strict=True):
            assert (one - other).abs().max() <= 1e-10 * other.abs().max()


@pytest.mark.parametrize("name", ["many", "moved"])
def test_two_ranks_end_with_the_weights_of_one(place: Path, name: str) -> None:
    found, expected = (checkpoint(place / which, 12)["state_dict"] for which in (name, "many_alone"))
    assert found.keys() == expected.keys()
    for weight in found:
        assert torch.allclose(found[weight], expected[weight], rtol=0, atol=1e-9)


def test_both_ranks_make_the_same_number_of_updates(place: Path) -> None:
    for name in ("many", "lone"):
        assert [json.loads((place / f"{name}.rank{rank}.json").read_text()) for rank in (0, 1)] == [
            ["finished", 12]
        ] * 2


def test_one_rank_writes_the_rows_and_they_are_those_of_a_run_alone(place: Path) -> None:
    found, expected = rows(place / "many"), rows(place / "many_alone")
    assert [row["update"] for row in found] == ["5", "6", "10", "12"]
    for row, other in zip(found, expected, strict=True):
        for column in set(row) - {"tokens_per_second"}:
            assert row[column] == other[column] or float(row[column]) == pytest.approx(
                float(other[column]), rel=1e-8
            )


def test_the_dev_set_is_scored_without_a_sentence_twice_or_missing(place: Path) -> None:
    looks = [row for row in rows(place / "many") if row["dev_perplexity"]]
    alone = [row for row in rows(place / "many_alone") if row["dev_perplexity"]]
    assert [row["dev_bleu"] for row in looks] == [row["dev_bleu"] for row in alone]
    assert [float(row["dev_perplexity"]) for row in looks] == pytest.approx(
        [float(row["dev_perplexity"]) for row in alone], rel=1e-9
    )


def test_ranks_stop_together_when_one_of_them_is_asked_to(place: Path) -> None:
    (first, second) = (json.loads((place / f"stopped.rank{rank}.json").read_text()) for rank in (0, 1))
    assert first == second
    state, updates = first
    assert state == "interrupted"
    assert list_checkpoints(place / "stopped" / "checkpoints")[-1].name == f"update-{updates:08d}.ckpt"


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_shares_cover_a_list_once(world: int) -> None:
    items = list(range(7))
    shares = [Ranks(rank, world, torch.device("cpu")).share(items) for rank in range(world)]
    assert sorted(item for share in shares for item in share) == items


def test_alone_there_is_nobody_to_ask() -> None:
    alone = Ranks(0, 1, torch.device("cpu"))
    assert alone.sum(torch.tensor([1.5, 2.0])).tolist() == [1.5, 2.0]
    assert alone.max(3.0) == 3.0
    assert alone.gather(["a", "b"]) == ["a", "b"]
