"""One rule for where a run trains, is scored, and is said to have run."""

from __future__ import annotations

import pytest
import torch

from xformer.config.compose import compose
from xformer.runs.result import device_name
from xformer.training.device import training_device


@pytest.mark.parametrize(
    ("asked", "there", "taken"),
    [("gpu", False, "cuda"), ("cpu", True, "cpu"), ("auto", True, "cuda"), ("auto", False, "cpu")],
)
def test_the_device_is_the_one_that_is_asked_for_or_there(
    asked: str, there: bool, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert training_device(compose([f"trainer.accelerator={asked}"]).trainer).type == taken


def test_a_run_on_a_cpu_is_not_said_to_have_used_the_gpu_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_name(torch.device("cpu")).endswith(f", {torch.get_num_threads()} threads")
