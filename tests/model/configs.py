"""Small configurations for the tests of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xformer.config import schema

VOCABULARY = 40

POST = schema.PostPlacement(kind="post")
PRE = schema.PrePlacement(kind="pre")
SINUSOIDAL = schema.SinusoidalPosition(kind="sinusoidal", layout="interleaved")
HALVES = schema.SinusoidalPosition(kind="sinusoidal", layout="halves")
LEARNED = schema.LearnedPosition(kind="learned", max_length=64)
LAYERNORM = schema.LayerNorm(kind="layernorm", epsilon=1e-6, bias=True)
RMSNORM = schema.RMSNorm(kind="rmsnorm", epsilon=1e-6)
RELU = schema.FeedForward(kind="relu", bias=True, dropout=0.0)
GELU = schema.FeedForward(kind="gelu", bias=True, dropout=0.0)
EXPLICIT = schema.Attention(bias=True, dropout=0.0, kernel="explicit")
FUSED = schema.Attention(bias=True, dropout=0.0, kernel="fused")

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
    }.items()
    for changes in [dict[str, Any](changes)]
}
"""One line per variant: each must keep every promise that the tests state for all."""
