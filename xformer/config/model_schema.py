"""The part of the typed configuration that describes a model; reached as `schema.Model` and so on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from xformer.config.values import Count, Depth, Positive, Probability, settings


@settings
class PostPlacement:
    """norm(x + f(x)), the paper's (section 3.1)."""

    kind: Literal["post"]


@settings
class PrePlacement:
    """x + f(norm(x)), with one more norm after each stack."""

    kind: Literal["pre"]


@settings
class SandwichPlacement:
    """x + norm(f(norm(x))), with one more norm after each stack (Ding et al. 2021)."""

    kind: Literal["sandwich"]


@settings
class DeepNormPlacement:
    """norm(α x + f(x)), α and the initial weights set by the depth (Wang et al. 2022)."""

    kind: Literal["deepnorm"]


@settings
class PostSubLayerPlacement:
    """x + norm(f(x)), with one more norm after each stack (Liu et al. 2022)."""

    kind: Literal["postsublayer"]


@settings
class ParallelPlacement:
    """x + Σ f(norm(x)), all sub-layers of a layer side by side (Wang & Komatsuzaki 2021)."""

    kind: Literal["parallel"]


Placement = Annotated[
    PostPlacement
    | PrePlacement
    | SandwichPlacement
    | DeepNormPlacement
    | PostSubLayerPlacement
    | ParallelPlacement,
    Field(discriminator="kind"),
]


@settings
class SinusoidalPosition:
    """Fixed sines and cosines added to the embeddings (section 3.5)."""

    kind: Literal["sinusoidal"]
    layout: Literal["interleaved", "halves"]


@settings
class LearnedPosition:
    """One trained vector per position and side, added to the embeddings (Table 3, row E)."""

    kind: Literal["learned"]
    max_length: Count


@settings
class NoPosition:
    """Nothing: order shows in the causal mask alone (Kazemnejad et al. 2023)."""

    kind: Literal["none"]


@settings
class RotaryPosition:
    """Queries and keys of self-attention turned by their positions: RoPE (Su et al. 2021)."""

    kind: Literal["rope"]
    theta: Positive
    fraction: Annotated[float, Field(gt=0.0, le=1.0)]


@settings
class AlibiPosition:
    """Scores of self-attention lowered in proportion to the distance (Press et al. 2022)."""

    kind: Literal["alibi"]


@settings
class RelativePosition:
    """A trained number per head and bucket of distances, added to the scores: T5's (Raffel et al. 2020)."""

    kind: Literal["t5"]
    buckets: Count
    max_distance: Count


Position = Annotated[
    SinusoidalPosition | LearnedPosition | NoPosition | RotaryPosition | AlibiPosition | RelativePosition,
    Field(discriminator="kind"),
]


@settings
class LayerNorm:
    """Mean and variance normalisation with gain and, if `bias`, shift (Ba et al. 2016)."""

    kind: Literal["layernorm"]
    epsilon: Positive
    bias: bool


@settings
class RMSNorm:
    """Root-mean-square normalisation with gain only (Zhang & Sennrich 2019)."""

    kind: Literal["rmsnorm"]
    epsilon: Positive


Norm = Annotated[LayerNorm | RMSNorm, Field(discriminator="kind")]


# Activations whose input is cut in two, one half the gate of the other: a third matrix (Shazeer 2020).
GATED = ("glu", "reglu", "geglu", "swiglu")


@settings
class FeedForward:
    """Two linear maps with an activation between (section 3.3); three where the activation is gated."""

    kind: Literal["relu", "gelu", "silu", "relu2", "glu", "reglu", "geglu", "swiglu"]
    bias: bool
    dropout: Probability


@settings
class Attention:
    """Scaled dot-product attention (section 3.2)."""

    bias: bool
    dropout: Probability
    kernel: Literal["auto", "explicit", "fused"]
    scale: Literal["sqrt_d_k", "d_k", "none"] = "sqrt_d_k"
    query_key_norm: Literal["none", "rms"] = "none"


@settings
class Model:
    """Sizes and strategies of one Transformer."""

    layers: Depth
    d_model: Count
    d_ff: Count
    heads: Count
    key_value_heads: Count
    d_k: Count
    d_v: Count
    dropout: Probability
    tying: Literal["three_way", "target", "none"]
    embedding_scale: bool
    initialisation: Literal["xavier_uniform"]
    placement: Placement
    position: Position
    norm: Norm
    feedforward: FeedForward
    attention: Attention
    architecture: Literal["encoder_decoder", "decoder_only"] = "encoder_decoder"
    match: Literal["none", "params", "flops"] = "none"
