"""DeepNorm's constants are those of the paper's table, and they reach the residual and the first weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.model.configs import DEEPNORM, POST, SMALL, VOCABULARY
from xformer.config.sizes.layout import Stack, stacks
from xformer.model import build
from xformer.model.deepnorm import constants
from xformer.model.placement import DeepNorm


@pytest.mark.parametrize(
    ("stack", "layers", "alpha", "beta"),
    [  # Wang et al. 2022, table 1: N = M = layers
        ("encoder", 6, 0.81 * 6 ** (5 / 16), 0.87 / 6 ** (5 / 16)),
        ("decoder", 6, 18**0.25, 72**-0.25),
        ("decoder_only", 12, 24**0.25, 96**-0.25),
        ("encoder", 18, 1.998746, 0.352571),
        ("decoder", 18, 2.710806, 0.260847),
        ("decoder_only", 8, 2.0, 8**-0.5),
    ],
)
def test_constants_are_those_of_the_published_table(stack, layers, alpha, beta):
    ours = constants(Stack(stack, layers, ()))
    assert ours.alpha == pytest.approx(alpha, rel=1e-5)
    assert ours.beta == pytest.approx(beta, rel=1e-5)


@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder_only"])
def test_each_stack_has_its_own_constants_and_queries_and_keys_keep_their_weights(architecture):
    config = replace(SMALL, layers=3, architecture=architecture)
    torch.manual_seed(1)
    plain = dict(build(replace(config, placement=POST), VOCABULARY).named_parameters())
    torch.manual_seed(1)
    model = build(replace(config, placement=DEEPNORM), VOCABULARY)
    for module in model.modules():
        if isinstance(module, DeepNorm):
            assert module.alpha > 1
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1 or name.startswith("embedding"):
            assert torch.equal(parameter, plain[name]), name
            continue
        beta = {stack.name: constants(stack).beta for stack in stacks(config)}[name.split(".")[0]]
        rows = {"input": 2 * 16, "memory": 16, "query": 16}.get(name.split(".")[-2], 0)  # queries and keys
        assert torch.equal(parameter[:rows], plain[name][:rows]), name
        torch.testing.assert_close(parameter[rows:], beta * plain[name][rows:])
