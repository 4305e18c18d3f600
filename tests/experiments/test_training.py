"""Every row trains, and trains alike when it is compiled."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
import torch

from tests.experiments.rows import EXPERIMENTS, MASK, SOURCE, TARGET, model_of, row
from xformer.data.prepare import prepare
from xformer.training.fit import fit

REPRESENTATIVE = ["table3/base", "modern/llama", "modern/t5bias", "modern/decoder_only", "modern/deepnorm"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_loss_falls_within_thirty_updates_on_the_built_in_language(
    experiment: str, cache: Path, tmp_path: Path
) -> None:
    config = row(
        experiment,
        f"cache_dir={cache}",
        "data.train_pairs=600",
        "data.valid_pairs=10",
        "data.test_pairs=10",
        "data.long_pairs=1",
        "tokenizer.vocabulary=300",
        "trainer.updates=30",
        "optim.cooldown_updates=0",
        "decode.average=1",
        "trainer.threads=1",
        "trainer.log_every=5",
        "trainer.validate_every=100",
        "trainer.checkpoint_every=100",
        "optim.warmup_updates=15",
    )
    assert fit(config, prepare(config), tmp_path, report=lambda _: None).state == "finished"
    with (tmp_path / "metrics.csv").open() as file:
        losses = [float(line["nll"]) for line in csv.DictReader(file)]
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.1


def _loss(experiment: str, backend: str | None) -> torch.Tensor:
    torch._dynamo.reset()
    model = model_of(experiment)
    forward = (
        model.forward if backend is None else torch.compile(model.forward, backend=backend, dynamic=True)
    )
    states = forward(SOURCE, MASK, TARGET)
    loss = torch.nn.functional.cross_entropy(
        model.logits(states)[:, :-1].flatten(0, 1), TARGET[:, 1:].flatten()
    )
    loss.backward()
    gradient = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    return torch.stack([loss.detach(), gradient])


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_compiled_loss_and_gradient_equal_the_eager_ones(experiment: str) -> None:
    torch.testing.assert_close(_loss(experiment, "aot_eager"), _loss(experiment, None), atol=1e-4, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler here")
@pytest.mark.parametrize("experiment", REPRESENTATIVE)
def test_inductors_loss_and_gradient_equal_the_eager_ones(experiment: str) -> None:
    torch.testing.assert_close(_loss(experiment, "inductor"), _loss(experiment, None), atol=1e-4, rtol=1e-4)
