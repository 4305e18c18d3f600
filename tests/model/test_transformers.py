"""Whole models agree with Hugging Face's Marian, T5 and Llama carrying the same weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.model.configs import (
    EXPLICIT,
    FUSED,
    GEGLU,
    HALVES,
    LAYERNORM,
    NO_BIAS,
    PRE,
    RMSNORM,
    ROPE,
    SILU,
    SMALL,
    SWIGLU,
    T5,
    VOCABULARY,
)
from xformer.config import schema
from xformer.model import build
from xformer.model.attention import CrossAttention, SelfAttention
from xformer.model.masks import Mask
from xformer.model.seq2seq import Seq2Seq

SIZES = replace(SMALL, layers=3, d_model=32, d_ff=48, heads=4, key_value_heads=4)
KERNELS = pytest.mark.parametrize("kernel", [EXPLICIT.kernel, FUSED.kernel])


def restless(config: schema.Model) -> Seq2Seq:
    """A model none of whose biases and gains stands at its first value."""
    torch.manual_seed(0)
    model = build(config, VOCABULARY)
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    return model.eval()


def batch() -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(9)[None] < torch.tensor([9, 6, 2])[:, None]
    return torch.randint(4, VOCABULARY, (3, 9)).where(mask, 0), mask, torch.randint(4, VOCABULARY, (3, 11))


def projections(attention: SelfAttention | CrossAttention) -> Mapping[str, Tensor]:
    """Query, key and value weights and biases, by `q.weight` and so on."""
    packs = [attention.input] if isinstance(attention, SelfAttention) else [attention.query, attention.memory]
    found = {}
    for pack in packs:
        for name, matrix in pack.matrices():
            found[f"{name[0]}.weight"] = matrix
        if pack.bias is not None:
            for name, bias in zip(pack.parts, pack.bias.split(list(pack.parts.values())), strict=True):
                found[f"{name[0]}.bias"] = bias
    return found


def give(theirs: nn.Module, **tensors: Tensor) -> None:
    """Set every parameter of `theirs`; keys have `__` for dots. None may be left out."""
    named = {name.replace("__", "."): tensor for name, tensor in tensors.items()}
    theirs.load_state_dict(named, strict=True)


def give_attention(theirs: nn.Module, ours: SelfAttention | CrossAttention, names: str, output: str) -> None:
    weights = {names.format(key[0]) + key[1:]: tensor for key, tensor in projections(ours).items()}
    weights |= {f"{output}.{key}": tensor for key, tensor in ours.output.state_dict().items()}
    theirs.load_state_dict(weights, strict=True)


@KERNELS
def test_post_norm_silu_and_sinusoids_in_halves_agree_with_marian(kernel):
    config = replace(
        SIZES,
        norm=replace(LAYERNORM, epsilon=1e-5),
        feedforward=SILU,
        position=HALVES,
        attention=replace(EXPLICIT, kernel=kernel),
    )
    ours, (source, mask, target) = restless(config), batch()
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY,
            d_model=32,
            encoder_layers=3,
            decoder_layers=3,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            activation_function="silu",
            scale_embedding=True,
            max_position_embeddings=64,
            pad_token_id=0,
        )
    ).eval()
    theirs.model.shared.weight.data.copy_(ours.embedding.weight_WD["shared"])
    for their_stack, our_stack in (
        (theirs.model.encoder, ours.encoder),
        (theirs.model.decoder, ours.decoder),
    ):
        for their_layer, our_layer in zip(their_stack.layers, our_stack.layers, strict=True):
            norms = list(our_layer.residual.norms)
            give_attention(their_layer.self_attn, our_layer.attention, "{}_proj", "out_proj")
            their_layer.self_attn_layer_norm.load_state_dict(norms[0].state_dict())
            if hasattr(our_layer, "cross_attention"):
                give_attention(their_layer.encoder_attn, our_layer.cross_attention, "{}_proj", "out_proj")
                their_layer.encoder_attn_layer_norm.load_state_dict(norms[1].state_dict())
            their_layer.fc1.load_state_dict(our_layer.feedforward.inner.state_dict())
            their_layer.fc2.load_state_dict(our_layer.feedforward.output.state_dict())
            their_layer.final_layer_norm.load_state_dict(norms[-1].state_dict())
    expected = theirs(input_ids=source, attention_mask=mask.long(), decoder_input_ids=target).logits
    torch.testing.assert_close(ours.logits(ours(source, mask, target)), expected, atol=1e-4, rtol=1e-4)


@KERNELS
def test_relative_bias_rms_norms_gated_gelu_and_unscaled_scores_agree_with_t5(kernel):
    config = replace(
        SIZES,
        placement=PRE,
        norm=RMSNORM,
        position=T5,
        feedforward=replace(GEGLU, bias=False),
        attention=replace(NO_BIAS, scale="none", kernel=kernel),
        embedding_scale=False,
    )
    ours, (source, mask, target) = restless(config), batch()
    for scheme in (ours.encoder.position, ours.decoder.position):
        nn.init.normal_(scheme.weight_NH)
    t5 = T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=3,
        num_heads=4,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=16,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,  # leaves them tied, but the logits unscaled, as in T5 1.1
        dropout_rate=0.0,
    )
    t5.dense_act_fn = "gelu"  # the exact one; T5 takes an approximation by tanh
    theirs = T5ForConditionalGeneration(t5).eval()
    theirs.shared.weight.data.copy_(ours.embedding.weight_WD["shared"])
    for their_stack, our_stack in ((theirs.encoder, ours.encoder), (theirs.decoder, ours.decoder)):
        their_stack.final_layer_norm.load_state_dict(our_stack.norm.state_dict())
        first = their_stack.block[0].layer[0].SelfAttention
        bias = first.relative_attention_bias
        bias.weight.data.copy_(our_stack.position.weight_NH)
        del first.relative_attention_bias  # set; what is left has the names of the other layers
        for block, layer in zip(their_stack.block, our_stack.layers, strict=True):
            give_attention(block.layer[0].SelfAttention, layer.attention, "{}", "o")
            if hasattr(layer, "cross_attention"):
                give_attention(block.layer[1].EncDecAttention, layer.cross_attention, "{}", "o")
            gate, value = (matrix for _, matrix in layer.feedforward.inner.matrices())
            give(
                block.layer[-1].DenseReluDense,
                wi_0__weight=gate,
                wi_1__weight=value,
                wo__weight=layer.feedforward.output.weight,
            )
            for part, norm in zip(block.layer, layer.residual.norms, strict=True):
                part.layer_norm.load_state_dict(norm.state_dict())
        first.relative_attention_bias = bias
    expected = theirs(input_ids=source, attention_mask=mask.long(), decoder_input_ids=target).logits
    torch.testing.assert_close(ours.logits(ours(source, mask, target)), expected, atol=1e-4, rtol=1e-4)


@KERNELS
def test_a_single_stack_without_a_source_agrees_with_llama(kernel):
    """RoPE, grouped queries, RMSNorm, SwiGLU, no biases; without a prefix it is a causal language model."""
    config = replace(
        SIZES,
        architecture="decoder_only",
        key_value_heads=2,
        placement=PRE,
        norm=RMSNORM,
        position=ROPE,
        feedforward=replace(SWIGLU, bias=False),
        attention=replace(NO_BIAS, kernel=kernel),
        embedding_scale=False,
        tying="none",
    )
    ours, target = restless(config), batch()[2]
    theirs = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=6,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            rms_norm_eps=1e-6,
            rope_theta=10000.0,
            tie_word_embeddings=False,
        )
    ).eval()
    theirs.model.embed_tokens.weight.data.copy_(ours.embedding.weight_WD["target"])
    theirs.lm_head.weight.data.copy_(ours.embedding.weight_WD["output"])
    theirs.model.norm.load_state_dict(ours.decoder.norm.state_dict())
    for their_layer, layer in zip(theirs.model.layers, ours.decoder.layers, strict=True):
        give_attention(their_layer.self_attn, layer.attention, "{}_proj", "o_proj")
        gate, value = (matrix for _, matrix in layer.feedforward.inner.matrices())
        give(
            their_layer.mlp,
            gate_proj__weight=gate,
            up_proj__weight=value,
            down_proj__weight=layer.feedforward.output.weight,
        )
        their_layer.input_layernorm.load_state_dict(layer.residual.norms[0].state_dict())
        their_layer.post_attention_layernorm.load_state_dict(layer.residual.norms[1].state_dict())
    nothing = torch.empty(3, 0, dtype=torch.long)
    states = ours(nothing, nothing.bool(), target)
    torch.testing.assert_close(ours.logits(states), theirs(input_ids=target).logits, atol=1e-4, rtol=1e-4)


def test_grouped_queries_equal_all_heads_with_repeated_keys_and_values():
    few = SelfAttention(replace(SIZES, key_value_heads=2))
    many = SelfAttention(SIZES)
    torch.manual_seed(0)
    for parameter in few.parameters():
        nn.init.normal_(parameter, std=0.2)
    many.output.load_state_dict(few.output.state_dict())
    for theirs, ours in ((many.input.weight, few.input.weight), (many.input.bias, few.input.bias)):
        query, key, value = ours.data.split([32, 16, 16])
        repeated = [part.unflatten(0, (2, 8)).repeat_interleave(2, 0).flatten(0, 1) for part in (key, value)]
        theirs.data.copy_(torch.cat([query, *repeated]))
    x = torch.randn(2, 7, 32)
    ours, theirs = (attention(x, Mask(), lambda y: y) for attention in (few, many))
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)
