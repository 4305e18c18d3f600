"""A model without initial weights is in every other respect the model that is trained."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.model.configs import BIG, SMALL, VARIANTS, VOCABULARY
from xformer.errors import UserError
from xformer.inspection.blank import blank
from xformer.model import build


@pytest.mark.parametrize("name", VARIANTS)
def test_it_has_the_parameters_of_the_model_that_is_trained(name: str) -> None:
    config = VARIANTS[name]
    empty, real = blank(config, VOCABULARY), build(config, VOCABULARY)
    assert [(n, p.shape, p.dtype, p.device) for n, p in empty.named_parameters()] == [
        (n, p.shape, p.dtype, p.device) for n, p in real.named_parameters()
    ]
    assert [type(m) for m in empty.modules()] == [type(m) for m in real.modules()]


def test_it_draws_no_random_number() -> None:
    before = torch.random.get_rng_state()
    blank(SMALL, VOCABULARY)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_no_machine_can_hold_is_refused_in_words() -> None:
    with pytest.raises(UserError, match="more than this machine has memory for"):
        blank(replace(SMALL, d_ff=10**15), VOCABULARY)


def test_it_takes_no_memory_for_its_weights() -> None:
    def resident() -> int:
        pages = next(open("/proc/self/statm")).split()[1]  # noqa: SIM115
        return int(pages) * 4096

    before = resident()
    model = blank(BIG, 37_000)
    assert sum(p.numel() for p in model.parameters()) * 4 > 800 * 2**20
    assert resident() - before < 100 * 2**20


def test_models_built_afterwards_are_initialised() -> None:
    blank(SMALL, VOCABULARY)
    assert build(SMALL, VOCABULARY).embedding.logits(torch.ones(1, SMALL.d_model)).std() > 0
