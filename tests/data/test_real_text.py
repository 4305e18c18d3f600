"""What no made-up text has: real corpora, where the environment names a folder of some (`XFORMER_DATA`)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from xformer.config import schema
from xformer.config.compose import compose
from xformer.data.corpus import read_lines
from xformer.data.plan import UpdatePlan
from xformer.data.prepare import Prepared, prepare

REAL = Path(os.environ.get("XFORMER_DATA", ""))

pytestmark = pytest.mark.skipif("XFORMER_DATA" not in os.environ, reason="XFORMER_DATA names no folder")


@pytest.fixture(
    scope="module",
    params=["multi30k en de", "multi30k en fr", "tatoeba-en-de en de", "wmt-newstest-en-de en de"],
)
def real(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[schema.Config, Prepared]:
    folder, source, target = request.param.split()
    words = ["scale=mini", "data=files", f"data.dir={REAL / folder}", f"data.source={source}"]
    cache = tmp_path_factory.mktemp("real")
    config = compose([*words, f"data.target={target}", f"cache_dir={cache}"])
    return config, prepare(config)


def test_every_line_comes_back_as_it_was(real: tuple[schema.Config, Prepared]) -> None:
    _, prepared = real
    for name in ("valid", "test"):
        files = prepared.corpus.splits[name]
        for path in (files.source, files.target):
            lines = read_lines(path)
            assert prepared.tokenizer.decode(prepared.tokenizer.encode(lines)) == lines


def test_every_training_pair_is_kept_or_counted(real: tuple[schema.Config, Prepared]) -> None:
    _, prepared = real
    kept, dropped = len(prepared.train), sum(prepared.dropped.values())
    assert kept + dropped == prepared.corpus.splits["train"].lines
    assert dropped < kept / 50


def test_an_epoch_holds_every_pair_once_and_little_padding(real: tuple[schema.Config, Prepared]) -> None:
    config, prepared = real
    plan = UpdatePlan(
        prepared.train.source_lengths,
        prepared.train.target_lengths,
        tokens_per_update=config.batch.tokens_per_update,
        tokens_per_device=config.batch.tokens_per_device,
        seed=1,
    )
    for epoch in (0, 1):
        first = epoch * plan.updates_per_epoch
        updates = [plan.update(number) for number in range(first, first + plan.updates_per_epoch)]
        seen = np.concatenate([micro for update in updates for micro in update])
        assert np.array_equal(np.sort(seen), np.arange(len(prepared.train)))
    assert plan.padding_share() < 0.12
