"""What is recorded is what the model did, and the model does not notice."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.attention_maps.models import model_of
from tests.model.configs import FUSED, SMALL, VARIANTS, VOCABULARY
from xformer.model.attention import Attention
from xformer.model.masks import Mask
from xformer.model.recording import Recorded, record_attention
from xformer.model.seq2seq import Seq2Seq


class Call(NamedTuple):
    """What one attention was given, and what it made of it."""

    attention: Attention
    q: Tensor
    k: Tensor
    v: Tensor
    mask: Mask
    out: Tensor


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every call of `Attention.attend`, noted below whatever is set up on a single module."""
    noted: list[Call] = []
    original = Attention.attend

    def attend(self: Attention, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        out = original(self, q, k, v, mask)
        noted.append(Call(self, q, k, v, mask, out))
        return out

    monkeypatch.setattr(Attention, "attend", attend)
    return noted


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Three sources, the second one padded and the third one all padding, and their targets."""
    source_BS = torch.randint(4, VOCABULARY, (3, 7), generator=torch.Generator().manual_seed(1))
    mask_BS = torch.arange(7) < torch.tensor([[7], [4], [0]])
    target_BT = torch.randint(4, VOCABULARY, (3, 5), generator=torch.Generator().manual_seed(2))
    return source_BS, mask_BS, target_BT


def reference(call: Call) -> np.ndarray:
    """softmax(scale · q kᵀ + bias) over what may be seen, one query at a time."""
    q, k = (x.double().numpy() for x in (call.q, call.k))
    (B, H, T, _), (G, S) = q.shape, k.shape[1:3]
    seen = np.ones((B, H, T, S), bool) if call.mask.allowed is None else call.mask.allowed.numpy()
    seen = np.broadcast_to(seen, (B, H, T, S))
    bias = np.zeros(1) if call.mask.bias is None else call.mask.bias.double().numpy()
    bias = np.broadcast_to(bias, (B, H, T, S))
    weights = np.zeros((B, H, T, S))
    for b, h, t in np.ndindex(B, H, T):
        scores = k[b, h // (H // G)] @ q[b, h, t] * call.attention.scale + bias[b, h, t]
        exponents = np.exp(scores) * seen[b, h, t]
        weights[b, h, t] = exponents / exponents.sum()
    if call.mask.empty is not None:
        weights *= 1 - np.broadcast_to(call.mask.empty.numpy(), weights.shape)
    return weights


@torch.no_grad()
def recorded(model: Seq2Seq) -> list[Recorded]:
    with record_attention(model) as found:
        model(*batch())
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_weights_are_those_of_the_queries_keys_and_mask(variant: str, calls: list[Call]) -> None:
    found = recorded(model_of(VARIANTS[variant]))
    assert len(found) == len(calls) > 0
    for each, call in zip(found, calls, strict=True):
        assert each.attention is call.attention
        np.testing.assert_allclose(each.weights_BHTS.numpy(), reference(call), atol=2e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_weights_explain_what_the_attention_gave(variant: str, calls: list[Call]) -> None:
    """Weights times values, projected, are the output: with grouped queries and fused kernels too."""
    found = recorded(model_of(VARIANTS[variant]))
    for each, call in zip(found, calls, strict=True):
        repeated = call.v.repeat_interleave(each.weights_BHTS.shape[1] // call.v.shape[1], dim=1)
        with torch.no_grad():
            context = (each.weights_BHTS @ repeated).transpose(1, 2).flatten(2)
            torch.testing.assert_close(call.attention.output(context), call.out, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_attention_is_recorded_once_in_the_order_of_the_layers(variant: str) -> None:
    model = model_of(VARIANTS[variant])
    found = [each.name for each in recorded(model)]
    modules = [name for name, module in model.named_modules() if isinstance(module, Attention)]
    assert found == modules


def test_rows_sum_to_one_and_those_with_nothing_to_see_to_zero() -> None:
    for each in recorded(model_of(SMALL)):
        sums = each.weights_BHTS.sum(-1)
        reads_source = each.name.startswith("encoder") or each.name.endswith("cross_attention")
        assert torch.allclose(sums[:2], torch.ones_like(sums[:2]), atol=1e-6)
        assert torch.allclose(sums[2], torch.full_like(sums[2], float(not reads_source)), atol=1e-6)


def test_padding_gets_no_weight_and_changes_none() -> None:
    model = model_of(SMALL)
    source_BS, _, target_BT = batch()
    together = recorded(model)
    with torch.no_grad(), record_attention(model) as alone:
        model(source_BS[1:2, :4], torch.ones(1, 4, dtype=torch.bool), target_BT[1:2])
    for padded, single in zip(together, alone, strict=True):
        T, S = single.weights_BHTS.shape[2:]
        assert (padded.weights_BHTS[1, :, :, S:] == 0).all()
        torch.testing.assert_close(padded.weights_BHTS[1, :, :T, :S], single.weights_BHTS[0])


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_outputs_and_gradients_stay_the_same_to_the_bit(variant: str, training: bool) -> None:
    config = replace(VARIANTS[variant], dropout=0.2)
    config = replace(config, attention=replace(config.attention, dropout=0.2))
    model = model_of(config).train(training)

    def run() -> list[Tensor]:
        torch.manual_seed(9)
        model.zero_grad()
        out = model(*batch())
        out.square().sum().backward()
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        return [out.detach(), *gradients, torch.rand(1)]

    plain = run()
    with record_attention(model):
        watched = run()
    assert len(plain) > 3
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


def test_half_precision_is_recorded_in_float32() -> None:
    model = model_of(SMALL).to(torch.bfloat16)
    for each in recorded(model):
        assert each.weights_BHTS.dtype == torch.float32
        assert not each.weights_BHTS.requires_grad
        sums = each.weights_BHTS[0].sum(-1)
        assert torch.allclose(sums, torch.ones_like(sums), atol=1e-6)


def test_nothing_is_left_on_the_model_afterwards() -> None:
    model = model_of(SMALL)
    before = [dict(module.__dict__) for module in model.modules()]
    found = recorded(model)
    count = len(found)
    model(*batch())
    assert len(found) == count
    assert [dict(module.__dict__) for module in model.modules()] == before


def test_nothing_is_left_on_the_model_after_an_exception() -> None:
    model = model_of(SMALL)
    with pytest.raises(IndexError), record_attention(model):
        model(torch.tensor([[VOCABULARY]]), torch.ones(1, 1, dtype=torch.bool), torch.tensor([[1]]))
    assert not any("attend" in module.__dict__ for module in model.modules())


def test_recordings_may_nest_and_both_see_everything() -> None:
    model = model_of(SMALL)
    with record_attention(model) as outer:
        with record_attention(model) as inner:
            model(*batch())
        model(*batch())
    assert len(outer) == 2 * len(inner)
    assert all(torch.equal(a.weights_BHTS, b.weights_BHTS) for a, b in zip(outer, inner, strict=False))
    assert not any("attend" in module.__dict__ for module in model.modules())


def test_decoding_step_by_step_gives_the_rows_of_the_whole_pass() -> None:
    model = model_of(replace(SMALL, attention=FUSED))
    source_BS, mask_BS, target_BT = (x[:1] for x in batch())
    with torch.no_grad(), record_attention(model) as whole:
        model(source_BS, mask_BS, target_BT)
    state = model.start(source_BS, mask_BS, 5)
    with record_attention(model) as steps:
        for t in range(5):
            model.step(target_BT[:, t], state)
    name = "decoder.layers.1.attention"
    (full,) = (each.weights_BHTS for each in whole if each.name == name)
    rows = [each.weights_BHTS for each in steps if each.name == name]
    for t, row in enumerate(rows):
        torch.testing.assert_close(row[:, :, 0], full[:, :, t, : t + 1])
    assert len(rows) == 5
