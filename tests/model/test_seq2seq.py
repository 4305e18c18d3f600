"""What every variant of the model promises: causality, independence of padding, finite gradients."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.model.configs import LEARNED, RELU, SMALL, VARIANTS, VOCABULARY
from xformer.model import build
from xformer.model.seq2seq import Seq2Seq

ALL = pytest.mark.parametrize("name", VARIANTS)
MODES = pytest.mark.parametrize("mode", ["train", "eval", "no_grad"])


def model_of(name: str) -> Seq2Seq:
    torch.manual_seed(1)
    return build(VARIANTS[name], VOCABULARY)


def tokens(*shape: int, seed: int = 2) -> Tensor:
    return torch.randint(4, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


def padded(lengths: list[int]) -> tuple[Tensor, Tensor]:
    mask_BS = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return tokens(len(lengths), max(lengths)).where(mask_BS, 0), mask_BS


@ALL
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_changing_a_future_target_token_never_changes_an_earlier_logit(name, dtype):
    model = model_of(name).to(dtype)
    source, mask = padded([6, 4, 5])
    target = tokens(3, 37, seed=3)
    before = model.logits(model(source, mask, target))
    for t in (1, 13, 32, 36):
        changed = target.clone()
        changed[:, t] = (target[:, t] + 7) % VOCABULARY
        after = model.logits(model(source, mask, changed))
        assert torch.equal(before[:, :t], after[:, :t])
        assert not torch.equal(before[:, t], after[:, t])


def test_causality_holds_under_dropout_with_the_same_draws():
    model = build(replace(SMALL, dropout=0.3), VOCABULARY)
    source, mask = padded([6, 4])
    target = tokens(2, 9, seed=3)
    torch.manual_seed(5)
    before = model(source, mask, target)
    torch.manual_seed(5)
    after = model(source, mask, torch.cat([target[:, :5], tokens(2, 4, seed=9)], dim=1))
    assert torch.equal(before[:, :5], after[:, :5])


@ALL
@MODES
def test_the_source_is_encoded_alike_whatever_is_padded_beside_it(name, mode):
    model = model_of(name).train(mode == "train")
    source, target = tokens(1, 5), tokens(1, 8, seed=3)
    real = torch.ones(1, 5, dtype=torch.bool)
    batch = torch.cat([torch.cat([source, torch.zeros(1, 7, dtype=torch.long)], 1), tokens(2, 12, seed=4)])
    mask = torch.cat([torch.arange(12)[None] < 5, torch.ones(2, 12, dtype=torch.bool)])
    with torch.set_grad_enabled(mode != "no_grad"):
        alone, beside = model.encode(source, real), model.encode(batch, mask)
        assert beside.shape == (3, 12, 16)
        torch.testing.assert_close(beside[:1, :5], alone, atol=1e-5, rtol=0)
        logits_alone = model.logits(model(source, real, target))
        logits_beside = model.logits(model(batch, mask, target.expand(3, -1)))
        torch.testing.assert_close(logits_beside[:1], logits_alone, atol=1e-5, rtol=0)


@ALL
def test_what_stands_in_the_padding_does_not_matter_at_all(name):
    model = model_of(name)
    source, mask = padded([6, 3, 1])
    target = tokens(3, 7, seed=3)
    other = source.where(mask, tokens(3, 6, seed=8))
    assert torch.equal(model(source, mask, target), model(other, mask, target))


@ALL
@MODES
def test_target_padding_changes_nothing_before_it(name, mode):
    model = model_of(name).train(mode == "train")
    source, mask = padded([6, 4])
    target = tokens(2, 5, seed=3)
    with torch.set_grad_enabled(mode != "no_grad"):
        alone = model(source, mask, target)
        longer = model(source, mask, torch.cat([target, torch.zeros(2, 7, dtype=torch.long)], dim=1))
    assert longer.shape == (2, 12, 16)
    torch.testing.assert_close(longer[:, :5], alone, atol=1e-5, rtol=0)


@ALL
def test_an_empty_source_gives_finite_numbers_and_leaves_the_others_alone(name):
    model = model_of(name)
    source, mask = padded([5, 0])
    target = tokens(2, 6, seed=3)
    logits = model.logits(model(source, mask, target))
    assert logits.isfinite().all()
    alone = model.logits(model(source[:1], mask[:1], target[:1]))
    torch.testing.assert_close(logits[:1], alone, atol=1e-5, rtol=0)
    logits.logsumexp(dim=-1).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@ALL
def test_gradients_reach_every_parameter(name):
    model = model_of(name)
    source, mask = padded([6, 4, 5])
    target = tokens(3, 7, seed=3)
    logits = model.logits(model(source, mask, target))
    torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), target[:, 1:].flatten()).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name


@ALL
def test_weights_survive_a_safe_round_trip(name):
    model, stored = model_of(name), io.BytesIO()
    torch.save(model.state_dict(), stored)
    stored.seek(0)
    torch.manual_seed(99)
    fresh = build(VARIANTS[name], VOCABULARY)
    source, mask = padded([6, 4])
    assert not torch.equal(fresh(source, mask, source), model(source, mask, source))
    fresh.load_state_dict(torch.load(stored, weights_only=True))
    assert torch.equal(fresh(source, mask, source), model(source, mask, source))


@ALL
def test_every_stored_tensor_is_stored_once(name):
    tensors = model_of(name).state_dict().values()
    assert len({tensor.data_ptr() for tensor in tensors}) == len(tensors)


@ALL
def test_float64_is_kept_throughout(name):
    model = model_of(name)
    source, mask = padded([6, 4])
    single = model(source, mask, source)
    double = model.double()(source, mask, source)
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), single, atol=1e-5, rtol=0)


def test_the_order_of_source_and_target_tokens_matters():
    model = model_of("paper")
    source, mask = padded([6])
    before = model(source, mask, source)
    assert not torch.allclose(model(source.flip(1), mask, source), before, atol=1e-3)
    swapped = source[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(model(source, mask, swapped)[:, -1], before[:, -1], atol=1e-3)


def test_dropout_falls_on_embeddings_and_on_every_sublayer():
    dropped = []
    model = build(replace(SMALL, dropout=0.5, feedforward=RELU), VOCABULARY)
    for module in model.modules():
        if type(module).__name__ == "Dropout" and module.p > 0:
            module.register_forward_hook(lambda *_: dropped.append(1))
    source, mask = padded([6, 4])
    model(source, mask, source)
    assert len(dropped) == 1 + 2 * 2 + 1 + 2 * 3
    assert torch.equal(model.eval()(source, mask, source), model(source, mask, source))


def test_only_learned_positions_limit_the_length():
    assert model_of("paper").max_source_length is None
    assert model_of("paper").max_target_length is None
    assert model_of("learned").max_source_length == LEARNED.max_length
    assert model_of("learned").max_target_length == LEARNED.max_length
