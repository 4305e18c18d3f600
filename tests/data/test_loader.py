"""Every rank sees every update, each micro-batch falls to one rank, and a later start is the same run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.data.corpora import config, sentences, write_corpus, write_small_corpus
from xformer.data.loader import Update, UpdateDataset, update_loader
from xformer.data.plan import UpdatePlan
from xformer.data.prepare import prepare
from xformer.data.store import ParallelStore
from xformer.data.vocabulary import PAD

UPDATES = 40


def random_store(count: int = 101, longest: int = 40) -> ParallelStore:
    draw = np.random.default_rng(3)
    lengths = draw.integers(0, longest, (count, 2))
    return ParallelStore.from_pairs(
        [tuple(draw.integers(4, 300, n).tolist() for n in pair) for pair in lengths], 300
    )


def dataset(rank: int = 0, world: int = 1, *, updates: int = UPDATES, device: int = 80) -> UpdateDataset:
    store = random_store()
    plan = UpdatePlan(
        store.source_lengths, store.target_lengths, tokens_per_update=200, tokens_per_device=device, seed=1
    )
    return UpdateDataset(store, plan, updates, rank, world)


def content(update: Update) -> list[object]:
    return [
        (micro.number, micro.batch.source_BS.tolist(), micro.batch.target_out_BT.tolist())
        for micro in update.micro_batches
    ]


def contents(loader: object) -> list[list[object]]:
    return [content(update) for update in loader]  # type: ignore[attr-defined]


# --- shares ----------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_all_ranks_take_part_in_every_update_and_together_do_what_one_would(world: int) -> None:
    alone = list(update_loader(dataset(), 0))
    ranks = [list(update_loader(dataset(rank, world), 0)) for rank in range(world)]
    assert {len(rank) for rank in ranks} == {UPDATES}
    for whole, *parts in zip(alone, *ranks, strict=True):
        assert sorted(chain.from_iterable(map(content, parts))) == sorted(content(whole))
        assert {(part.number, part.epoch, part.source_tokens, part.target_tokens) for part in parts} == {
            (whole.number, whole.epoch, whole.source_tokens, whole.target_tokens)
        }


def test_a_rank_without_work_in_an_update_still_gets_it() -> None:
    idle = [update for update in update_loader(dataset(3, 4, device=200), 0) if not update.micro_batches]
    assert idle
    assert all(update.target_tokens > 0 for update in idle)


def test_the_tokens_of_an_update_are_those_of_all_its_micro_batches() -> None:
    for update in update_loader(dataset(), 0):
        batches = [micro.batch for micro in update.micro_batches]
        assert update.target_tokens == sum(int((batch.target_out_BT != PAD).sum()) for batch in batches)
        assert update.source_tokens == sum(int(batch.source_mask_BS.sum()) for batch in batches)


def test_micro_batches_are_numbered_within_the_whole_update() -> None:
    for update in update_loader(dataset(1, 2), 0):
        assert [micro.number for micro in update.micro_batches] == list(
            range(1, 2 * len(update.micro_batches), 2)
        )


def test_updates_are_cut_finer_without_changing_their_sentences_or_tokens() -> None:
    def rows(update: Update) -> list[list[int]]:
        return sorted(
            [i for i in row if i != PAD]
            for micro in update.micro_batches
            for row in micro.batch.target_out_BT.tolist()
        )

    for coarse, fine in zip(
        update_loader(dataset(device=200), 0), update_loader(dataset(device=40), 0), strict=True
    ):
        assert len(coarse.micro_batches) < len(fine.micro_batches)
        assert rows(coarse) == rows(fine)
        assert coarse.target_tokens == fine.target_tokens


# --- going on --------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 1, 17, UPDATES - 1, UPDATES])
def test_a_resumed_loader_goes_on_with_the_very_next_update(start: int) -> None:
    unbroken = list(update_loader(dataset(), 0))
    resumed = list(update_loader(dataset(), start))
    assert [update.number for update in resumed] == list(range(start, UPDATES))
    assert [content(update) for update in resumed] == [content(update) for update in unbroken[start:]]


def test_the_run_goes_on_over_as_many_epochs_as_it_has_updates() -> None:
    epochs = [update.epoch for update in update_loader(dataset(updates=100), 0)]
    assert epochs == sorted(epochs)
    assert set(epochs) == set(range(max(epochs) + 1))
    assert max(epochs) >= 3


def test_the_loader_is_as_long_as_what_it_yields() -> None:
    loader = update_loader(dataset(), 7)
    assert len(loader) == len(list(loader)) == UPDATES - 7


def test_there_is_no_update_beyond_the_last() -> None:
    for n in (-1, UPDATES):
        with pytest.raises(IndexError, match=f"update {n} of {UPDATES}"):
            dataset()[n]


def test_going_through_the_loader_leaves_the_random_stream_of_the_run_alone() -> None:
    before = torch.get_rng_state()
    list(update_loader(dataset(), 0))
    assert torch.equal(torch.get_rng_state(), before)


# --- devices and workers -----------------------------------------------------------------------


@pytest.mark.skipif(not torch.cuda.is_available(), reason="page-locked memory needs a GPU")
def test_pinned_updates_are_the_same_updates() -> None:
    pinned = list(update_loader(dataset(), 0, pin_memory=True))
    assert all(micro.batch.source_BS.is_pinned() for update in pinned for micro in update.micro_batches)
    assert contents(pinned) == contents(update_loader(dataset(), 0))


def test_two_workers_give_what_none_gives() -> None:
    assert contents(update_loader(dataset(), 5, workers=2)) == contents(update_loader(dataset(), 5))


_WITH_WORKERS = """
import sys
from pathlib import Path
from tests.data.corpora import config
from xformer.data.loader import UpdateDataset, update_loader
from xformer.data.plan import UpdatePlan
from xformer.data.prepare import prepare

data = prepare(config(Path(sys.argv[1])))
plan = UpdatePlan(
    data.train.source_lengths, data.train.target_lengths, tokens_per_update=200, tokens_per_device=100, seed=1
)
for update in update_loader(UpdateDataset(data.train, plan, int(sys.argv[2]), 0, 1), 0, workers=2):
    print(update.number, update.target_tokens, flush=True)
"""


def run_with_workers(folder: Path, updates: int) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    return subprocess.Popen(
        [sys.executable, "-c", _WITH_WORKERS, str(folder), str(updates)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_workers_started_after_a_tokenizer_has_run_stay_silent(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    run = run_with_workers(tmp_path, 200)
    output, errors = run.communicate(timeout=120)
    assert (run.returncode, errors) == (0, "")
    assert len(output.splitlines()) == 200


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_no_worker_outlives_an_interrupted_run(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    run = run_with_workers(tmp_path, 1_000_000)
    assert run.stdout is not None
    assert run.stdout.readline().startswith("0 ")
    assert len(list(members(run.pid))) >= 3  # itself and two workers
    os.kill(run.pid, signal.SIGINT)
    run.communicate(timeout=60)
    for _ in range(100):
        if not list(members(run.pid)):
            return
        time.sleep(0.1)
    raise AssertionError(f"still there: {list(members(run.pid))}")


def members(session: int) -> Iterator[int]:
    """Processes of a session that are not yet dead."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, in_session, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(in_session) == session and state not in "ZX":
            yield int(stat.parent.name)


# --- the whole way -----------------------------------------------------------------------------


def test_a_sentence_arrives_in_its_update_beside_its_translation(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    sources, targets = sentences(60), [line.upper() for line in sentences(60, shift=2)]
    sources[4], sources[9] = "", "one\u2028two </s> three"
    write_corpus(tmp_path, {"train": (sources, targets)})
    data = prepare(config(tmp_path))
    plan = UpdatePlan(
        data.train.source_lengths,
        data.train.target_lengths,
        tokens_per_update=300,
        tokens_per_device=150,
        seed=1,
    )
    seen = []
    for update in update_loader(UpdateDataset(data.train, plan, plan.updates_per_epoch, 0, 1), 0):
        for micro in update.micro_batches:
            seen += zip(
                data.tokenizer.decode(micro.batch.source_BS.tolist()),
                data.tokenizer.decode(micro.batch.target_out_BT.tolist()),
                strict=True,
            )
    assert sorted(seen) == sorted((s, t) for s, t in zip(sources, targets, strict=True) if s)
