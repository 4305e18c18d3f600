"""Seeds by place."""

from __future__ import annotations

import torch

from xformer.training.seeding import derive, seed_dropout


def drawn(seed: int, update: int, micro_batch: int) -> list[float]:
    seed_dropout(seed, update, micro_batch, torch.device("cpu"))
    return torch.rand(4).tolist()


def test_each_seed_update_and_micro_batch_has_dropout_of_its_own() -> None:
    places = [(1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (11, 0, 0), (1, 10, 0), (1, 1, 10)]
    assert len({tuple(drawn(*place)) for place in places}) == len(places)


def test_what_was_drawn_before_does_not_matter() -> None:
    first = drawn(3, 5, 7)
    torch.rand(100)
    assert drawn(3, 5, 7) == first


def test_a_seed_is_the_same_on_every_machine() -> None:
    assert derive(1, "dropout", 2, 3) == 5_067_069_891_004_865_383
