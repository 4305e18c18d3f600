"""What Hugging Face's Marian architecture can express, and the two configurations of such a model.

Marian is the paper's architecture with sinusoids in halves. Whatever it has no word for is refused by name,
with what is allowed: an export never approximates. The norms' epsilon is no choice there, always 1e-5;
`xformer.exchange.marian_weights` says what becomes of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xformer.config import schema
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.errors import UserError

EPSILON = 1e-5
"""Of every norm in Hugging Face's Marian."""

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu"}
"""By Marian's name: ours."""

_POSITIONS = 1024  # Hugging Face makes a table of so many, at each start, and knows none beyond

# The tying of embeddings as (share_encoder_decoder_embeddings, tie_word_embeddings).
_TYING = {"three_way": (True, True), "target": (False, True), "none": (False, False)}


def check_expressible(config: schema.Model) -> None:
    """Raise UserError that names every key whose value Marian cannot express."""
    if refused := list(_inexpressible(config)):
        raise UserError(
            "the Marian format cannot express this model; --to safetensors can:\n" + "\n".join(refused)
        )


def _inexpressible(config: schema.Model) -> Iterator[str]:
    def only(key: str, value: object, allowed: object, why: str = "") -> Iterator[str]:
        if value != allowed:
            yield f"model.{key}: {value}; Marian has {allowed} only{why}"

    yield from only("architecture", config.architecture, "encoder_decoder")
    yield from only("placement.kind", config.placement.kind, "post")
    yield from only("position.kind", config.position.kind, "sinusoidal")
    yield from only("norm.kind", config.norm.kind, "layernorm")
    if isinstance(config.norm, schema.LayerNorm):
        yield from only("norm.bias", config.norm.bias, True)
    if config.feedforward.kind not in ACTIVATIONS:
        yield f"model.feedforward.kind: {config.feedforward.kind}; Marian has relu, gelu and silu only"
    yield from only("feedforward.bias", config.feedforward.bias, True)
    yield from only("attention.bias", config.attention.bias, True)
    yield from only("attention.scale", config.attention.scale, "sqrt_d_k")
    yield from only("attention.query_key_norm", config.attention.query_key_norm, "none")
    yield from only("key_value_heads", config.key_value_heads, config.heads, " here, that of model.heads")
    if config.d_model % config.heads:
        yield f"model.heads: {config.heads}; in Marian it must divide model.d_model = {config.d_model}"
    else:
        size, why = config.d_model // config.heads, " here, model.d_model / model.heads"
        yield from only("d_k", config.d_k, size, why)
        yield from only("d_v", config.d_v, size, why)


def to_marian(config: schema.Model, vocabulary: int, longest: int) -> dict[str, Any]:
    """`config.json` of a model that passed `check_expressible`; `longest`: of its training sequences."""
    share, tie = _TYING[config.tying]
    stacks = {
        f"{stack}_{name}": value
        for stack in ("encoder", "decoder")
        for name, value in (
            ("layers", config.layers),
            ("attention_heads", config.heads),
            ("ffn_dim", config.d_ff),
            ("layerdrop", 0.0),
        )
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": vocabulary,
        "decoder_vocab_size": vocabulary,
        "d_model": config.d_model,
        **stacks,
        "activation_function": config.feedforward.kind,
        "dropout": config.dropout,
        "attention_dropout": config.attention.dropout,
        "activation_dropout": config.feedforward.dropout,
        "scale_embedding": config.embedding_scale,
        "share_encoder_decoder_embeddings": share,
        "tie_word_embeddings": tie,
        "max_position_embeddings": max(_POSITIONS, longest),
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "decoder_start_token_id": BOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def generation(beam: int, positions: int) -> dict[str, Any]:
    """`generation_config.json`: the same search, without the length penalty: its formula is another there."""
    return {
        "num_beams": beam,
        "length_penalty": 0.0,
        "early_stopping": False,
        "max_length": positions,
        "suppress_tokens": [PAD, BOS, UNK],  # as here, where they are never written either
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "decoder_start_token_id": BOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": None,
    }


def from_marian(values: dict[str, Any], where: str) -> schema.Model:
    """The `model` part of a configuration from Marian's `config.json`, which `where` names.

    Raises UserError for another architecture, for values of a wrong kind, and for what this model has no word
    for: stacks of different sizes, two vocabularies, other activations.
    """
    read = _Reader(values, where)
    read.only("model_type", "marian")
    sizes = {}
    for name in ("layers", "attention_heads", "ffn_dim"):
        sizes[name] = read.count(f"encoder_{name}")
        read.only(f"decoder_{name}", sizes[name], f"that of encoder_{name}")
    d_model, heads = read.count("d_model"), sizes["attention_heads"]
    if d_model % heads or d_model % 2:
        raise UserError(f"{where}: d_model {d_model} is odd or no multiple of {heads} attention heads")
    read.only("decoder_vocab_size", read.count("vocab_size"), "that of vocab_size", absent=None)
    activation = read.get("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise UserError(f"{where}: activation_function {activation}: known are {', '.join(ACTIVATIONS)}")
    return schema.Model(
        layers=sizes["layers"],
        d_model=d_model,
        d_ff=sizes["ffn_dim"],
        heads=heads,
        key_value_heads=heads,
        d_k=d_model // heads,
        d_v=d_model // heads,
        dropout=read.rate("dropout", 0.1),
        tying=_tying(read),
        embedding_scale=bool(read.get("scale_embedding", False)),
        initialisation="xavier_uniform",
        placement=schema.PostPlacement(kind="post"),
        position=schema.SinusoidalPosition(kind="sinusoidal", layout="halves"),
        norm=schema.LayerNorm(kind="layernorm", epsilon=EPSILON, bias=True),
        feedforward=schema.FeedForward(
            kind=ACTIVATIONS[activation],  # type: ignore[arg-type]
            bias=True,
            dropout=read.rate("activation_dropout", 0.0),
        ),
        attention=schema.Attention(bias=True, dropout=read.rate("attention_dropout", 0.0), kernel="auto"),
    )


def _tying(read: _Reader) -> Any:
    share = bool(read.get("share_encoder_decoder_embeddings", True))
    tie = bool(read.get("tie_word_embeddings", True))
    for tying, pair in _TYING.items():
        if pair == (share, tie):
            return tying
    raise UserError(
        f"{read.where}: shared embeddings (share_encoder_decoder_embeddings) with an output of its own "
        "(tie_word_embeddings: false) are not supported"
    )


class _Reader:
    """Values of a foreign configuration; a value that is left out has the default of the other side."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values, self.where = values, where

    def get(self, key: str, default: Any) -> Any:
        return self._values.get(key, default)

    def only(self, key: str, allowed: object, meaning: str = "", absent: object = ...) -> None:
        value = self._values.get(key, absent)
        if value != allowed and (absent is ... or value is not absent):
            said = f"{meaning}, {allowed!r}" if meaning else repr(allowed)
            shown = "is missing" if value is ... else f"is {value!r}"
            raise UserError(f"{self.where}: {key} {shown}; only {said} can be imported")

    def count(self, key: str) -> int:
        value = self._values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UserError(f"{self.where}: {key} must be a whole number from 1 on, not {value!r}")
        return value

    def rate(self, key: str, default: float) -> float:
        value = self._values.get(key, default)
        if not isinstance(value, int | float) or not 0 <= value < 1:
            raise UserError(f"{self.where}: {key} must be a number from 0 to less than 1, not {value!r}")
        return float(value)
