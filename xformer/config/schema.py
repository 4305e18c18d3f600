"""The typed configuration: one frozen dataclass per YAML group, strict in every key, type and range.

Values and their explanations live in `conf/`; this file says what is allowed, and `model_schema` for a model.
A field with a default here was added after the first release: the default is the behaviour before it
existed, so that old run folders load and keep their hash (see `xformer.runs.identity`).
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal

from pydantic import Field

# All of it, to be read as `schema.NAME`: a new part of a model then needs no line here (docs/extending.md).
from xformer.config.model_schema import *  # noqa: F403
from xformer.config.model_schema import Model
from xformer.config.values import (
    Beam,
    Count,
    CountOrZero,
    Exponent,
    LengthOrZero,
    Name,
    Positive,
    Probability,
    Ratio,
    Threads,
    settings,
)

Precision = Literal["fp32", "bf16", "fp64"]

BASE = "table3/base"
"""The experiment that all others are compared with."""

IMPORTED = "imported"
"""The experiment of a run that was made of another program's model."""

CUSTOM = "custom"
"""The experiment of a run whose command named none."""


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
class _Parallel:
    """Text in two languages, in three splits."""

    source: Name
    target: Name
    train: Name
    valid: Name
    test: Name
    max_length: Count


@settings
class FilesData(_Parallel):
    """A parallel corpus in files: DIR/SPLIT.LANGUAGE, one sentence a line, plain or .gz."""

    kind: Literal["files"]
    dir: Name


@settings
class HubData(_Parallel):
    """A parallel corpus by name, from the Hugging Face Hub through the library `datasets`."""

    kind: Literal["hub"]
    name: Name
    repository: Name
    subset: Name | None
    revision: Name
    vocabulary: Count | None = None


Data = Annotated[GrammarData | FilesData | HubData, Field(discriminator="kind")]


@settings
class Tokenizer:
    """Byte-level BPE shared by source and target (section 5.1); SentencePiece in imported runs only."""

    kind: Literal["bpe", "sentencepiece"]
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
    threads: Threads
    precision: Precision
    compile: Literal["auto", "on", "off"]
    log_every: Count
    validate_every: Count
    validation_sentences: CountOrZero
    checkpoint_every: Count
    keep_checkpoints: Count
    num_nodes: Count = 1
    rank_timeout: Count = 600


@settings
class Decode:
    """Beam search and what is decoded (section 6.1)."""

    beam: Beam
    alpha: Exponent
    extra_length: LengthOrZero
    average: Count
    tokens_per_batch: Count
    min_length: LengthOrZero = 0
    max_length: LengthOrZero = 0


DECODING = tuple(field.name for field in fields(Decode) if field.name != "tokens_per_batch")
"""The keys of `decode.` that can change a score; the other changes the speed alone."""


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
    done_dir: Name | None = None
