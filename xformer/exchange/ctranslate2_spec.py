"""A model's numbers in CTranslate2's own specification of a Transformer.

What has another form there:

* **Positions** that are added stand as a table among the weights, the paper's sinusoids like learned ones;
  a model without positions has a table of zeros.
* **Heads** have one size there. Where d_k and d_v differ, the smaller is filled up with zeros, which add
  nothing to a score and nothing to a value; the scale of the scores is written down.
* **A norm without a shift** has a shift of zero.
* **DeepNorm**'s norm(α x + f(x)) is a plain post-norm's on a residual stream that is α times as large: what
  writes the stream (embeddings, positions, norms) gets the factor α, what reads it 1/α.

D d_model, H heads, G key_value_heads, K size of a head there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from ctranslate2.specs import common_spec, transformer_spec
from torch import Tensor, nn

from xformer.config import schema
from xformer.model.attention import SCALES, Attention, CrossAttention, SelfAttention
from xformer.model.deepnorm import constants
from xformer.model.encoder_decoder import EncoderDecoder
from xformer.model.feedforward import FeedForward, GatedFeedForward
from xformer.model.layers import CrossLayer, SelfLayer
from xformer.model.positions import Learned, Relative, sinusoids
from xformer.model.projections import Projections
from xformer.model.stacks import Decoder, Encoder

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "silu": common_spec.Activation.SWISH,
    "glu": common_spec.Activation.Sigmoid,
    "reglu": common_spec.Activation.RELU,
    "geglu": common_spec.Activation.GELU,
    "swiglu": common_spec.Activation.SWISH,
}
"""What each of our feed-forwards applies."""


def to_spec(model: EncoderDecoder, config: schema.Model, positions: int) -> transformer_spec.TransformerSpec:
    """The specification, filled but for the vocabularies; `positions` is the length of a table of sinusoids.

    The model must have passed `xformer.exchange.ctranslate2_check`.
    """
    shape = _shape(config)
    encoder = transformer_spec.TransformerEncoderSpec(config.layers, config.heads, **shape)
    decoder = transformer_spec.TransformerDecoderSpec(
        config.layers, config.heads, external_pre_post_encoder_layers=shape["pre_post_layer_norm"], **shape
    )
    source, target, output = (_numbers(model.embedding.weight_WD[role]) for role in model.embedding.roles)
    encoder.embeddings[0].weight, decoder.embeddings.weight = source, target
    decoder.projection.weight = output
    for stack, ours in ((encoder, model.encoder), (decoder, model.decoder)):
        _Stack(config, ours, positions).fill(stack)
    spec = transformer_spec.TransformerSpec(encoder, decoder)
    spec.config.layer_norm_epsilon = config.norm.epsilon
    return spec


def _shape(config: schema.Model) -> dict[str, Any]:
    """What both stacks are made with."""
    turned: dict[str, Any] = {}
    if isinstance(rotary := config.position, schema.RotaryPosition):
        turned = {
            "rotary_dim": round(rotary.fraction * config.d_k),
            "rotary_interleave": False,
            "rotary_base": rotary.theta,
        }
    return {
        "pre_norm": config.placement.kind not in ("post", "deepnorm"),
        "pre_post_layer_norm": config.placement.kind == "sandwich",
        "activation": ACTIVATIONS[config.feedforward.kind],
        "relative_attention_bias": config.position.kind == "t5",
        "ffn_glu": config.feedforward.kind in schema.GATED,
        "rms_norm": config.norm.kind == "rmsnorm",
        "num_heads_kv": config.key_value_heads if config.key_value_heads < config.heads else None,
        "head_dim": max(config.d_k, config.d_v),
        **turned,
    }


class _Stack:
    """One stack of ours, and how many times as large its residual stream is there."""

    def __init__(self, config: schema.Model, ours: Encoder | Decoder, positions: int) -> None:
        self._config, self._ours, self._positions = config, ours, positions
        self._size = constants(ours.stack).alpha if config.placement.kind == "deepnorm" else 1.0

    def fill(self, spec: Any) -> None:
        """Put every number of the stack, its embeddings excepted, in its place."""
        scale = self._size * (math.sqrt(self._config.d_model) if self._config.embedding_scale else 1.0)
        spec.scale_embeddings = np.dtype("float32").type(scale)
        if hasattr(spec, "position_encodings"):
            spec.position_encodings.encodings = _numbers(self._table() * self._size)
        modules: Sequence[SelfLayer | CrossLayer] = self._ours.layers
        for layer, module in zip(spec.layer, modules, strict=True):
            self._layer(layer, module, last=module is modules[-1])
        if hasattr(spec, "layer_norm"):
            _norm(spec.layer_norm, self._ours.norm)

    def _table(self) -> Tensor:
        """What is added to the embeddings, one row for each position."""
        D = self._config.d_model
        match self._config.position:
            case schema.SinusoidalPosition(layout=layout):
                return sinusoids(self._positions, D, layout)
            case schema.RotaryPosition():
                return torch.zeros(1, D)  # is asked for and never read
            case _ if isinstance(self._ours.position, Learned):
                return self._ours.position.weight
            case _:
                return torch.zeros(self._positions, D)

    def _layer(self, spec: Any, module: SelfLayer | CrossLayer, *, last: bool) -> None:
        self._attention(spec.self_attention, module.attention)
        if isinstance(module, CrossLayer):
            self._attention(spec.attention, module.cross_attention)
        self._feedforward(spec.ffn, module.feedforward)
        norms = _norms(spec)
        for norm, ours in zip(norms, module.residual.norms, strict=True):
            hands_over = last and norm is norms[-1]  # to the other stack, or to the logits
            _norm(norm, ours, 1.0 if hands_over else self._size)
        if isinstance(position := self._ours.position, Relative):
            spec.self_attention.relative_attention_bias = _numbers(position.weight_NH)
            spec.self_attention.relative_attention_max_distance = np.dtype("int32").type(
                position.max_distance
            )

    def _attention(self, spec: Any, module: Attention) -> None:
        H, G = self._config.heads, self._config.key_value_heads
        scale = self._config.d_k ** SCALES[self._config.attention.scale]
        spec.queries_scale = np.dtype("float32").type(scale)
        if isinstance(module, SelfAttention):
            self._heads(spec.linear[0], module.input, (H, G, G), reads=self._size)
        elif isinstance(module, CrossAttention):
            self._heads(spec.linear[0], module.query, (H,), reads=self._size)
            self._heads(spec.linear[1], module.memory, (G, G), reads=1.0)
        output_HKD = _widened(module.output.weight.T, H, self._head_size)
        _linear(spec.linear[-1], output_HKD.T, module.output.bias)

    @property
    def _head_size(self) -> int:
        return max(self._config.d_k, self._config.d_v)

    def _heads(self, spec: Any, pack: Projections, heads: Sequence[int], reads: float) -> None:
        def widened(packed: Tensor) -> Tensor:
            parts = torch.split(packed, list(pack.parts.values()))
            return torch.cat(
                [_widened(part, count, self._head_size) for part, count in zip(parts, heads, strict=True)]
            )

        bias = None if pack.bias is None else widened(pack.bias)
        _linear(spec, widened(pack.weight) / reads, bias)

    def _feedforward(self, spec: Any, module: FeedForward | GatedFeedForward) -> None:
        inner = module.inner
        if isinstance(inner, Projections):
            sizes = list(inner.parts.values())
            weights = torch.split(inner.weight, sizes)
            biases = [None] * len(sizes) if inner.bias is None else torch.split(inner.bias, sizes)
            for linear, weight, bias in zip(
                (spec.linear_0, spec.linear_0_noact), weights, biases, strict=True
            ):
                _linear(linear, weight / self._size, bias)
        else:
            _linear(spec.linear_0, inner.weight / self._size, inner.bias)
        _linear(spec.linear_1, module.output.weight, module.output.bias)


def _norms(spec: Any) -> list[Any]:
    """Those of a layer there, in the order in which ours has them."""
    if not hasattr(spec, "input_layer_norm"):
        parts = (getattr(spec, name, None) for name in ("self_attention", "attention", "ffn"))
        return [part.layer_norm for part in parts if part is not None]
    names = (
        "input_layer_norm",
        "post_attention_layer_norm",
        "external_pre_encoder_attention_layer_norm",
        "external_post_encoder_attention_layer_norm",
        "pre_feedforward_layer_norm",
        "post_feedforward_layer_norm",
    )
    return [getattr(spec, name) for name in names if hasattr(spec, name)]


def _widened(rows: Tensor, heads: int, size: int) -> Tensor:
    """Rows of several heads, each head filled up with zeros: (heads · n, …) → (heads · size, …)."""
    apart = rows.reshape(heads, -1, *rows.shape[1:])
    missing = apart.new_zeros(heads, size - apart.shape[1], *rows.shape[1:])
    return torch.cat([apart, missing], dim=1).flatten(0, 1)


def _linear(spec: Any, weight: Tensor, bias: Tensor | None) -> None:
    spec.weight = _numbers(weight)
    if bias is not None:
        spec.bias = _numbers(bias)


def _norm(spec: Any, module: nn.Module, size: float = 1.0) -> None:
    """A norm whose output is `size` times as large."""
    gain, shift = module.weight, getattr(module, "bias", None)
    assert isinstance(gain, Tensor)
    spec.gamma = _numbers(gain * size)
    if hasattr(spec, "beta"):
        spec.beta = np.zeros_like(spec.gamma) if shift is None else _numbers(shift * size)


def _numbers(tensor: Tensor) -> Any:
    """In float32, with memory of their own."""
    return np.array(tensor.detach().cpu().float().numpy(), copy=True, order="C")
