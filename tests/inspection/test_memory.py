"""The estimate is what autograd keeps, and the exact part is exact."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch

from tests.model.configs import EXPLICIT, FUSED, VARIANTS
from xformer.config.compose import compose
from xformer.inspection import notation
from xformer.inspection.memory import kept_for_backward, training_memory
from xformer.model import build
from xformer.training import precision
from xformer.training.optimizer import build_adam

CPU = torch.device("cpu")
B, S, T = 3, 9, 8


@cache
def overall(setting):
    return compose([f"trainer.precision={setting}", "tokenizer.vocabulary=300"])


def kept_in_truth(config, model):
    """Bytes of all storages that a real forward pass in training keeps, weights excepted."""
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    storages = {}

    def note(x):
        if x.untyped_storage().data_ptr() not in weights:
            storages[x.untyped_storage().data_ptr()] = x
        return x

    source, target = torch.zeros(B, S, dtype=torch.long), torch.zeros(B, T, dtype=torch.long)
    with (
        torch.autograd.graph.saved_tensors_hooks(note, lambda x: x),
        precision.computing(config.trainer.precision, CPU),
    ):
        model(source, torch.ones_like(source, dtype=torch.bool), target)
    return sum(x.untyped_storage().nbytes() for x in storages.values())


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize(
    ("setting", "kernel"), [("fp32", "explicit"), ("fp32", "fused"), ("bf16", "explicit")]
)
def test_the_estimate_is_what_a_forward_pass_of_training_keeps(name, setting, kernel):
    model_config = replace(
        VARIANTS[name], dropout=0.1, attention=replace(VARIANTS[name].attention, kernel=kernel, dropout=0.0)
    )
    trained_bias = model_config.position.kind == "t5"
    if kernel == "fused" and (trained_bias or model_config.d_k != model_config.d_v):
        pytest.skip("on a CPU torch has no fused kernel for that")
    config = replace(overall(setting), model=model_config)
    sizes = {**notation.sizes_of(model_config, 300), "B": B, "S": S, "T": T}
    estimate = sum(each.nbytes(sizes) for each in kept_for_backward(config, CPU))
    truth = kept_in_truth(config, build(model_config, 300).train())
    # Heads that share keys need fewer copies where a single one is left.
    assert estimate == pytest.approx(truth, rel=0.002 if model_config.key_value_heads > 1 else 0.1)


def test_weights_gradients_and_moments_are_those_of_one_update():
    config = compose(["tokenizer.vocabulary=300", "model.layers=1"])
    model = build(config.model, 300)
    adam = build_adam(model.parameters(), config.optim)
    sum(weight.sum() for weight in model.parameters()).backward()
    adam.step()
    memory = training_memory(config, sum(weight.numel() for weight in model.parameters()))
    assert memory.weights == sum(weight.nbytes for weight in model.parameters())
    assert memory.gradients == sum(weight.grad.nbytes for weight in model.parameters())
    moments = [x for state in adam.state.values() for x in (state["exp_avg"], state["exp_avg_sq"])]
    assert memory.adam_moments == sum(x.nbytes for x in moments)
    assert memory.total == 4 * memory.weights + memory.activations + memory.loss


def test_twice_the_tokens_keep_nearly_twice_as_much():
    one, two = (
        training_memory(compose([f"batch.tokens_per_device={tokens}"]), 1).activations
        for tokens in (3200, 6400)
    )
    assert two == pytest.approx(2 * one, rel=0.01)


def test_separate_products_keep_the_scores_and_a_fused_kernel_does_not():
    def has_scores(attention):
        config = compose([])
        config = replace(config, model=replace(config.model, attention=attention))
        kept = kept_for_backward(config, CPU)
        return any({"T", "S"} <= set(map(notation.text, each.shape)) for each in kept)

    assert has_scores(EXPLICIT)
    assert not has_scores(FUSED)


def test_a_gpu_keeps_a_byte_for_each_number_that_dropout_has_seen():
    config = compose(["model.attention.kernel=fused"])
    on_cpu, on_gpu = (
        [each.itemsize for each in kept_for_backward(config, torch.device(kind))] for kind in ("cpu", "cuda")
    )
    dropouts = 2 + config.model.layers * (2 + 3)  # embeddings of each side, each sub-layer
    assert on_gpu.count(1) == dropouts
    assert len(on_gpu) == len(on_cpu)
    assert 1 not in on_cpu
