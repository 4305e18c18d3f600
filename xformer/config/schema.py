"""The typed configuration: one frozen dataclass per YAML group, strict in every key, type and range.

Values and their explanations live in `conf/`; this file says what is allowed.
A field with a default here was added after the first release: the default is the behaviour
before it existed, so that old run folders load and keep their hash (see `xformer.runs.identity`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal, TypeVar, cast, dataclass_transform

from pydantic import ConfigDict, Field, PlainSerializer, PlainValidator
from pydantic.dataclasses import dataclass

_T = TypeVar("_T")
# protected_namespaces: `model` is the field's own word for what we configure.
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings(cls: type[_T]) -> type[_T]:
    """A frozen dataclass that refuses unknown keys and wrong types."""
    return cast(type[_T], dataclass(frozen=True, kw_only=True, config=_STRICT)(cls))


def _ratio(value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, str, Fraction)):
        raise ValueError("must be a ratio such as 1 or 1/4")
    try:
        ratio = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError("must be a ratio such as 1 or 1/4") from None
    if ratio <= 0:
        raise ValueError("must be a positive ratio such as 1 or 1/4")
    return ratio


Ratio = Annotated[Fraction, PlainValidator(_ratio), PlainSerializer(str)]
Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NonNegative = Annotated[float, Field(ge=0.0)]
Name = Annotated[str, Field(min_length=1)]


# --- model ---------------------------------------------------------------------------------


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

    layers: Count
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


# --- everything else -----------------------------------------------------------------------


Precision = Literal["fp32", "bf16", "fp64"]


@settings
class Scale:
    """What turns the paper's numbers into sizes that fit the text and the machine."""

    name: Name
    width: Ratio
    depth: Ratio
    updates: Ratio
    vocabulary: Count
    tokens_per_update: Count
    tokens_per_device: Count
    warmup_updates: Count
    learning_rate_multiplier: Positive
    validate_every: Count
    checkpoint_every: Count
    precision: Precision


@settings
class GrammarData:
    """The built-in made-up language pair, generated from a seed."""

    kind: Literal["grammar"]
    seed: CountOrZero
    train_pairs: Count
    valid_pairs: Count
    test_pairs: Count
    long_pairs: Count
    max_length: Count


@settings
class FilesData:
    """A parallel corpus in files: DIR/SPLIT.LANGUAGE, one sentence a line, plain or .gz."""

    kind: Literal["files"]
    dir: Name
    source: Name
    target: Name
    train: Name
    valid: Name
    test: Name
    max_length: Count


@settings
class HubData:
    """A parallel corpus by name, from the Hugging Face Hub through the library `datasets`."""

    kind: Literal["hub"]
    name: Name
    repository: Name
    subset: Name | None
    revision: Name
    source: Name
    target: Name
    train: Name
    valid: Name
    test: Name
    max_length: Count
    vocabulary: Count | None = None


Data = Annotated[GrammarData | FilesData | HubData, Field(discriminator="kind")]


@settings
class Tokenizer:
    """Byte-level BPE shared by source and target (section 5.1)."""

    kind: Literal["bpe"]
    vocabulary: Count


@settings
class Batch:
    """How much text an update holds and how it is cut to fit a device (docs/design.md, 1)."""

    tokens_per_update: Count
    tokens_per_device: Count


@settings
class Optim:
    """Loss, Adam and the learning-rate schedule (sections 5.3 and 5.4)."""

    label_smoothing: Probability
    beta1: Probability
    beta2: Probability
    epsilon: Positive
    learning_rate_multiplier: Positive
    warmup_updates: Count
    gradient_clip: Positive | None
    warmup: Literal["linear", "none"] = "linear"
    cooldown_updates: CountOrZero = 0


@settings
class Trainer:
    """How long, on what, and how often to look."""

    updates: Count
    accelerator: Literal["auto", "cpu", "gpu"]
    devices: Count
    threads: CountOrZero
    precision: Precision
    compile: Literal["auto", "on", "off"]
    log_every: Count
    validate_every: Count
    validation_sentences: CountOrZero
    checkpoint_every: Count
    keep_checkpoints: Count
    num_nodes: Count = 1


@settings
class Decode:
    """Beam search and what is decoded (section 6.1)."""

    beam: Count
    alpha: NonNegative
    extra_length: CountOrZero
    average: Count
    tokens_per_batch: Count
    min_length: CountOrZero = 0
    max_length: CountOrZero = 0


@settings
class NoTracking:
    """Files in the run folder only."""

    kind: Literal["none"]


@settings
class WandbTracking:
    """Weights & Biases: online with a key or login, else offline; never a prompt."""

    kind: Literal["wandb"]
    project: Name
    entity: Name | None
    mode: Literal["auto", "online", "offline"]
    group: Name | None


@settings
class TensorBoardTracking:
    """TensorBoard's event files in the run folder."""

    kind: Literal["tensorboard"]


Tracking = Annotated[NoTracking | WandbTracking | TensorBoardTracking, Field(discriminator="kind")]


@settings
class Config:
    """One run, whole."""

    experiment: Name
    changes: tuple[Name, ...]
    seed: CountOrZero
    runs_dir: Name
    cache_dir: Name
    model: Model
    scale: Scale
    data: Data
    tokenizer: Tokenizer
    batch: Batch
    optim: Optim
    trainer: Trainer
    decode: Decode
    tracking: Tracking
