"""Every experiment file builds: what it says reaches the model, at the sizes of its scale."""

from __future__ import annotations

import pytest

from tests.experiments.rows import EXPERIMENTS
from xformer.config.compose import compose, plan
from xformer.config.sizes.accounting import parameters
from xformer.model.architectures import skeleton
from xformer.model.counting import counted_parameters


@pytest.mark.parametrize("scale", ["paper", "tiny"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_closed_form_and_counted_parameters_agree_for_every_experiment(name, scale):
    config = compose([f"experiments={name}", f"scale={scale}"])
    vocabulary = config.tokenizer.vocabulary
    closed = {part: number for part, number in parameters(config.model, vocabulary).items() if number}
    assert closed == counted_parameters(skeleton(config.model, vocabulary))


def test_the_sweep_of_everything_holds_every_experiment_once():
    rows = [job.config.experiment for job in plan(["sweeps=everything"]).jobs]
    for_one_corpus = [name for name in EXPERIMENTS if name.startswith("multi30k/")]
    assert sorted(rows + for_one_corpus) == EXPERIMENTS
