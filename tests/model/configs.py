"""Small configurations for the tests of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xformer.config import schema

VOCABULARY = 40

POST = schema.PostPlacement(kind="post")
PRE = schema.PrePlacement(kind="pre")
SANDWICH = schema.SandwichPlacement(kind="sandwich")
DEEPNORM = schema.DeepNormPlacement(kind="deepnorm")
POST_SUB_LAYER = schema.PostSubLayerPlacement(kind="postsublayer")
PARALLEL = schema.ParallelPlacement(kind="parallel")
SINUSOIDAL = schema.SinusoidalPosition(kind="sinusoidal", layout="interleaved")
HALVES = schema.SinusoidalPosition(kind="sinusoidal", layout="halves")
LEARNED = schema.LearnedPosition(kind="learned", max_length=64)
NO_POSITION = schema.NoPosition(kind="none")
ROPE = schema.RotaryPosition(kind="rope", theta=10000.0, fraction=1.0)
PARTIAL_ROPE = schema.RotaryPosition(kind="rope", theta=500.0, fraction=0.5)
ALIBI = schema.AlibiPosition(kind="alibi")
T5 = schema.RelativePosition(kind="t5", buckets=8, max_distance=16)
LAYERNORM = schema.LayerNorm(kind="layernorm", epsilon=1e-6, bias=True)
RMSNORM = schema.RMSNorm(kind="rmsnorm", epsilon=1e-6)
RELU = schema.FeedForward(kind="relu", bias=True, dropout=0.0)
GELU = schema.FeedForward(kind="gelu", bias=True, dropout=0.0)
SILU, RELU2, GLU, REGLU, GEGLU, SWIGLU = (
    schema.FeedForward(kind=kind, bias=True, dropout=0.0)
    for kind in ("silu", "relu2", "glu", "reglu", "geglu", "swiglu")
)
EXPLICIT = schema.Attention(bias=True, dropout=0.0, kernel="explicit")
FUSED = schema.Attention(bias=True, dropout=0.0, kernel="fused")
QK_NORM = schema.Attention(bias=True, dropout=0.0, kernel="explicit", query_key_norm="rms")
NO_BIAS = schema.Attention(bias=False, dropout=0.0, kernel="explicit")

SMALL = schema.Model(
    layers=2,
    d_model=16,
    d_ff=32,
    heads=2,
    key_value_heads=2,
    d_k=8,
    d_v=8,
    dropout=0.0,
    tying="three_way",
    embedding_scale=True,
    initialisation="xavier_uniform",
    placement=POST,
    position=SINUSOIDAL,
    norm=LAYERNORM,
    feedforward=RELU,
    attention=EXPLICIT,
)
"""The paper's model with everything small and no dropout."""

BASE = replace(SMALL, layers=6, d_model=512, d_ff=2048, heads=8, key_value_heads=8, d_k=64, d_v=64)
BIG = replace(BASE, d_model=1024, d_ff=4096, heads=16, key_value_heads=16)

VARIANTS: dict[str, schema.Model] = {
    name: replace(SMALL, **changes)
    for name, changes in {
        "paper": {},
        "fused": {"attention": FUSED},
        "pre": {"placement": PRE},
        "learned": {"position": LEARNED},
        "halves": {"position": HALVES},
        "rmsnorm": {"norm": RMSNORM},
        "gelu": {"feedforward": GELU},
        "sandwich": {"placement": SANDWICH},
        "deepnorm": {"placement": DEEPNORM},
        "post_sub_layer": {"placement": POST_SUB_LAYER},
        "parallel": {"placement": PARALLEL},
        "no_position": {"position": NO_POSITION},
        "rope": {"position": ROPE},
        "partial_rope": {"position": PARTIAL_ROPE},
        "alibi": {"position": ALIBI},
        "alibi_fused": {"position": ALIBI, "attention": FUSED},
        "t5": {"position": T5},
        "t5_fused": {"position": T5, "attention": FUSED},
        "silu": {"feedforward": SILU},
        "relu2": {"feedforward": RELU2},
        "glu": {"feedforward": GLU},
        "reglu": {"feedforward": REGLU},
        "geglu": {"feedforward": GEGLU},
        "swiglu": {"feedforward": SWIGLU},
        "qk_norm": {"attention": QK_NORM},
        "scale_d_k": {"attention": replace(EXPLICIT, scale="d_k")},
        "scale_none": {"attention": replace(FUSED, scale="none")},
        "no_biases": {"attention": NO_BIAS, "feedforward": replace(RELU, bias=False)},
        "unequal_heads": {"heads": 4, "key_value_heads": 4, "d_k": 3, "d_v": 5},
        "grouped_query": {"heads": 4, "d_k": 6, "d_v": 4},
        "multi_query_fused": {"heads": 4, "key_value_heads": 1, "d_k": 6, "d_v": 4, "attention": FUSED},
        "untied": {"tying": "none"},
        "all_at_once": {
            "placement": PRE,
            "position": LEARNED,
            "norm": RMSNORM,
            "feedforward": GELU,
            "attention": FUSED,
            "tying": "target",
        },
        "llama": {
            "placement": PRE,
            "position": ROPE,
            "norm": RMSNORM,
            "feedforward": replace(SWIGLU, bias=False),
            "attention": replace(NO_BIAS, kernel="fused"),
            "heads": 4,
            "key_value_heads": 2,
        },
        "decoder_only": {"architecture": "decoder_only"},
        "decoder_only_learned": {"architecture": "decoder_only", "position": LEARNED},
        "decoder_only_fused_rope": {"architecture": "decoder_only", "position": ROPE, "attention": FUSED},
        "decoder_only_alibi": {"architecture": "decoder_only", "position": ALIBI},
        "decoder_only_t5": {"architecture": "decoder_only", "position": T5, "placement": DEEPNORM},
        "decoder_only_no_position": {"architecture": "decoder_only", "position": NO_POSITION},
    }.items()
    for changes in [dict[str, Any](changes)]
}
"""One line per variant: each must keep every promise that the tests state for all."""
