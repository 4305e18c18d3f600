"""Devices that are not there, and Lightning kept quiet."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import pytest
import torch

from tests.training.runs import _base, change
from xformer.errors import UserError
from xformer.training.trainer import Stream, find_ranks, quiet


def settings(**changes: Any) -> Any:
    return change(_base().trainer, **changes)


def test_one_device_on_a_cpu_is_rank_0_of_1_whatever_torchrun_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("WORLD_SIZE", "4"), ("RANK", "3"), ("LOCAL_RANK", "3")):
        monkeypatch.setenv(name, value)
    ranks = find_ranks(settings())
    assert (ranks.rank, ranks.world, ranks.device.type) == (0, 1, "cpu")


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert find_ranks(settings(accelerator="auto")).device.type == "cpu"
    with pytest.raises(UserError, match=r"trainer\.accelerator=gpu.*0 GPUs"):
        find_ranks(settings(accelerator="gpu"))


def test_several_devices_without_as_many_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(UserError, match=r"trainer\.devices=2 .*here is 1"):
        find_ranks(settings(devices=2))
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(UserError, match="here is 3"):
        find_ranks(settings(devices=2))


def test_quiet_lasts_as_long_as_it_is_asked_for() -> None:
    lightning, before = logging.getLogger("lightning.pytorch"), logging.getLogger("lightning.pytorch").level
    filters = list(warnings.filters)
    with quiet():
        assert not lightning.isEnabledFor(logging.WARNING)
    assert lightning.level == before
    assert list(warnings.filters) == filters


def test_a_stream_has_no_length_and_begins_anew() -> None:
    stream = Stream([1, 2])
    assert not hasattr(stream, "__len__")
    assert [*stream, *stream] == [1, 2, 1, 2]
