"""Every row keeps every promise: causality, padding, caches, kernels, gradients, storage."""

from __future__ import annotations

import io

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from tests.experiments.rows import EXPERIMENTS, MASK, SOURCE, TARGET, VOCABULARY, logits, model_of

EACH = pytest.mark.parametrize("experiment", EXPERIMENTS)


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@EACH
def test_one_backward_pass_gives_every_parameter_a_finite_gradient(experiment):
    model = model_of(experiment, dropout=True)
    cross_entropy(logits(model)[:, :-1].flatten(0, 1), TARGET[:, 1:].flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if name.endswith(("weight", "weight_NH")):  # a key's bias adds the same to all scores of a query
            assert parameter.grad.abs().sum() > 0, name


@EACH
def test_the_future_changes_nothing_and_neither_does_padding(experiment):
    model = model_of(experiment)
    before = logits(model)
    later = TARGET.clone()
    later[:, 5:] = (TARGET[:, 5:] - 4 + 9) % (VOCABULARY - 4) + 4
    close(logits(model, target=later)[:, :5], before[:, :5])
    close(logits(model, pad(SOURCE, (0, 3), value=11), pad(MASK, (0, 3))), before)
    close(logits(model, target=pad(TARGET, (0, 4)))[:, :9], before)
    close(logits(model, SOURCE[1:, :4], MASK[1:, :4], TARGET[1:]), before[1:])


@EACH
@torch.no_grad()
def test_cached_decoding_equals_the_full_forward_pass(experiment):
    model = model_of(experiment).eval()
    state = model.start(SOURCE, MASK, max_length=9)
    close(torch.stack([model.step(TARGET[:, t], state) for t in range(9)], dim=1), logits(model))


@EACH
@torch.no_grad()
def test_both_kernels_say_the_same(experiment):
    explicit, fused = (logits(model_of(experiment, kernel=kernel)) for kernel in ("explicit", "fused"))
    close(fused, explicit)


@EACH
@torch.no_grad()
def test_no_source_at_all_is_finite_in_every_precision(experiment):
    nothing = torch.zeros_like(MASK)
    for dtype in (torch.float32, torch.bfloat16):
        for kernel in ("explicit", "fused"):
            assert logits(model_of(experiment, kernel=kernel).to(dtype), mask=nothing).isfinite().all()


@EACH
@torch.no_grad()
def test_evaluation_is_deterministic_and_survives_storage(experiment):
    model, stored = model_of(experiment, dropout=True).eval(), io.BytesIO()
    said = logits(model)
    assert torch.equal(logits(model), said)
    torch.save(model.state_dict(), stored)
    stored.seek(0)
    fresh = model_of(experiment, dropout=True).eval()
    for parameter in fresh.parameters():
        parameter.fill_(0.0)
    fresh.load_state_dict(torch.load(stored, weights_only=True))
    assert torch.equal(logits(fresh), said)
