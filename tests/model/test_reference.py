"""The whole model agrees with torch.nn.Transformer carrying the same weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.model.configs import FUSED, GELU, POST, PRE, RELU, SMALL, VOCABULARY
from xformer.model import build
from xformer.model.attention import CrossAttention, SelfAttention
from xformer.model.seq2seq import Seq2Seq

CONFIG = replace(SMALL, layers=3, d_model=32, d_ff=48, heads=4, key_value_heads=4)


def copy(parameter: Tensor, value: Tensor) -> None:
    parameter.data.copy_(value)


def copy_attention(theirs: nn.MultiheadAttention, ours: SelfAttention | CrossAttention) -> None:
    if isinstance(ours, SelfAttention):
        copy(theirs.in_proj_weight, ours.input.weight)
        copy(theirs.in_proj_bias, ours.input.bias)
    else:
        copy(theirs.in_proj_weight, torch.cat([ours.query.weight, ours.memory.weight]))
        copy(theirs.in_proj_bias, torch.cat([ours.query.bias, ours.memory.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def torch_transformer(model: Seq2Seq, config) -> nn.Transformer:
    """Build torch's own model with our weights; torch puts a final norm on post-norm stacks too: not here."""
    pre = config.placement.kind == "pre"
    options = {
        "d_model": config.d_model,
        "nhead": config.heads,
        "dim_feedforward": config.d_ff,
        "dropout": 0.0,
        "activation": config.feedforward.kind,
        "layer_norm_eps": config.norm.epsilon,
        "batch_first": True,
        "norm_first": pre,
    }
    reference = nn.Transformer(
        **options,
        custom_encoder=nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**options),
            config.layers,
            norm=nn.LayerNorm(config.d_model, config.norm.epsilon) if pre else None,
            enable_nested_tensor=False,
        ),
        num_decoder_layers=config.layers,
    )
    for theirs, ours in ((reference.encoder, model.encoder), (reference.decoder, model.decoder)):
        if pre:
            theirs.norm.load_state_dict(ours.norm.state_dict())
        else:
            theirs.norm = None
        for their_layer, our_layer in zip(theirs.layers, ours.layers, strict=True):
            copy_attention(their_layer.self_attn, our_layer.attention)
            if hasattr(our_layer, "cross_attention"):
                copy_attention(their_layer.multihead_attn, our_layer.cross_attention)
            their_layer.linear1.load_state_dict(our_layer.feedforward.inner.state_dict())
            their_layer.linear2.load_state_dict(our_layer.feedforward.output.state_dict())
            for i, norm in enumerate(our_layer.residual.norms, start=1):
                getattr(their_layer, f"norm{i}").load_state_dict(norm.state_dict())
    return reference


def reference_logits(model: Seq2Seq, config, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    weight = model.embedding.weight_WD["shared"]

    def embed(ids: Tensor) -> Tensor:  # section 3.4 and 3.5, one number at a time
        table = torch.empty(ids.shape[1], config.d_model)
        for position in range(ids.shape[1]):
            for i in range(0, config.d_model, 2):
                angle = torch.tensor(position / 10000 ** (i / config.d_model), dtype=torch.float64)
                table[position, i], table[position, i + 1] = angle.sin(), angle.cos()
        return weight[ids] * config.d_model**0.5 + table

    states = torch_transformer(model, config)(
        embed(source),
        embed(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]),
        src_key_padding_mask=~mask,  # there True = is padding
        memory_key_padding_mask=~mask,
    )
    return states @ weight.T


@pytest.mark.parametrize("placement", [POST, PRE], ids=["post", "pre"])
@pytest.mark.parametrize("feedforward", [RELU, GELU], ids=["relu", "gelu"])
@pytest.mark.parametrize("attention", [SMALL.attention, FUSED], ids=["explicit", "fused"])
def test_logits_and_gradients_equal_those_of_torchs_own_transformer(placement, feedforward, attention):
    config = replace(CONFIG, placement=placement, feedforward=feedforward, attention=attention)
    torch.manual_seed(0)
    model = build(config, VOCABULARY)
    for parameter in model.parameters():  # biases and gains that show
        parameter.data += 0.02 * torch.randn_like(parameter)
    mask = torch.arange(9)[None] < torch.tensor([9, 6, 2])[:, None]
    source = torch.randint(4, VOCABULARY, (3, 9)).where(mask, 0)
    target = torch.randint(4, VOCABULARY, (3, 11))

    ours = model.logits(model(source, mask, target))
    theirs = reference_logits(model, config, source, mask, target)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)

    weight = model.embedding.weight_WD["shared"]
    gradients = [torch.autograd.grad(x.log_softmax(-1)[..., 7].mean(), weight)[0] for x in (ours, theirs)]
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)
