"""What the files of a run folder hold, as far as the study reads them.

Keys that are not named here are passed over, since later versions may add some. A key that is named
must have the right type and a possible value: files can be cut short or edited by hand, and a score
of 1e9 or of "n/a" must never reach a table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from xformer.config import schema

record = dataclass(
    frozen=True,
    kw_only=True,
    config=ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, protected_namespaces=()),
)


class UnreadableError(Exception):
    """A file of a run folder that cannot be used: which one, and what is wrong with it."""


def _text(value: Any) -> str | None:
    """Names and hashes as one text, be they a string or a mapping of several."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {value[key]}" for key in value)
    return None if value is None else str(value)


Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0.0)]
Text = Annotated[str | None, BeforeValidator(_text)]

# --- config.yaml ---------------------------------------------------------------------------


@record
class PositionConfig:
    """Which position scheme the model has."""

    kind: str


@record
class ModelConfig:
    """The sizes that Table 3 varies."""

    layers: Count
    d_model: Count
    d_ff: Count
    heads: Count
    d_k: Count
    d_v: Count
    dropout: Amount
    position: PositionConfig


@record
class OptimConfig:
    """The one key of the objective that Table 3 varies."""

    label_smoothing: Amount


@record
class TrainerConfig:
    """How many updates were planned."""

    updates: Count


@record
class ScaleConfig:
    """What the paper's numbers were multiplied by."""

    name: str
    width: str | int | float
    depth: str | int | float
    updates: str | int | float


@record
class DecodeConfig(schema.Decode):
    """Everything about decoding that can change a score (`schema.DECODING`)."""

    tokens_per_batch: Count = 0  # changes no score, and need not be there


@record
class TokenizerConfig:
    """How text is cut into ids."""

    kind: str
    vocabulary: Count


@record
class ConfigFile:
    """The resolved configuration of a run."""

    experiment: str
    seed: Count
    changes: tuple[str, ...] = ()
    model: ModelConfig
    optim: OptimConfig
    trainer: TrainerConfig
    scale: ScaleConfig
    data: dict[str, Any]
    tokenizer: TokenizerConfig
    decode: DecodeConfig


# --- status.json, result.json, evaluations/*.json, failed/*.json ----------------------------


@record
class StatusFile:
    """How a run stands. Times are seconds since 1970."""

    state: Literal["running", "finished", "diverged", "failed", "interrupted"]
    reason: str | None = None
    updates: Count | None = None
    updates_planned: Count | None = None
    phase: str | None = None
    host: str | None = None
    pid: Annotated[int, Field(ge=1)] | None = None
    started: float | None = None
    updated: float | None = None
    ended: float | None = None
    overrides: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    row_hash: str | None = None
    run_id: str | None = None
    experiment: str | None = None
    seed: Count | None = None


@record
class LengthScores:
    """The BLEU of the sentences whose source has `shortest` to `longest` tokens; None: any number."""

    shortest: Annotated[int, Field(ge=0)] = Field(validation_alias="from")
    longest: Count | None = Field(default=None, validation_alias="to")
    bleu: Annotated[float, Field(ge=0.0, le=100.001)]
    sentences: Count | None = None


@record
class Scores:
    """The scores of one split. Perplexity is per subword token."""

    # A perfect corpus scores 100.00000000000004 in floating point.
    bleu: Annotated[float, Field(ge=0.0, le=100.001)]
    perplexity: Annotated[float, Field(gt=0.0)] | None = None
    chrf: Amount | None = None
    ter: Amount | None = None
    signature: dict[str, str] = Field(default_factory=dict)
    sentences: Count | None = None
    by_source_length: tuple[LengthScores, ...] = ()  # in files of `evaluations/`


@record
class ResultFile:
    """What a run came to; `dev` and `test` are None where it ended before it was scored."""

    run_id: str | None = None
    row_hash: str | None = None
    data: Text = None
    data_hash: Text = None
    tokenizer: Text = None
    tokenizer_hash: Text = None
    commit: str | None = None
    versions: Text = None
    device: Text = None
    parameters: Count | None = None
    parameters_closed_form: Count | None = None
    flops_per_token: Amount | None = None
    updates: Count | None = None
    train_tokens_per_second: Amount | None = None
    peak_memory_bytes: Count | None = None
    wall_seconds: Amount | None = None
    dev: Scores | None = None
    test: Scores | None = None


@record
class EvaluationFile(DecodeConfig):
    """Scores of the same run on other splits or decoded in another way."""

    average: Count = Field(validation_alias="averaged_checkpoints")
    splits: dict[str, Scores]
    update: Count | None = None  # after which the weights were scored

    @property
    def decoding(self) -> tuple[int | float, ...]:
        """How it was decoded, in the order of `schema.DECODING`."""
        return tuple(getattr(self, key) for key in schema.DECODING)


@record
class FailedFile:
    """A row of a sweep that could not start, so that it has no folder."""

    experiment: str
    overrides: tuple[str, ...]
    reason: str
    time: float
    seed: Count | None = None
    scale: str | None = None


# --- reading -------------------------------------------------------------------------------

Shape = TypeVar("Shape")
_CONFIG = TypeAdapter(ConfigFile)
_STATUS = TypeAdapter(StatusFile)
_RESULT = TypeAdapter(ResultFile)
_FAILED = TypeAdapter(FailedFile)
_EVALUATION = TypeAdapter(EvaluationFile)
_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_config(folder: Path) -> ConfigFile | None:
    """Read `config.yaml`; None without one. Raises UnreadableError."""
    path = folder / "config.yaml"
    try:
        return _CONFIG.validate_json(json.dumps(yaml.load(path.read_bytes(), Loader=_YAML), default=str))
    except FileNotFoundError:
        return None
    except (yaml.YAMLError, ValueError, TypeError, OSError, RecursionError) as error:
        raise _unreadable(path, error) from None


def read_status(folder: Path) -> StatusFile | None:
    """Read `status.json`; None without one. Raises UnreadableError."""
    return _read(folder / "status.json", _STATUS)


def read_result(folder: Path) -> ResultFile | None:
    """Read `result.json`; None without one. Raises UnreadableError."""
    return _read(folder / "result.json", _RESULT)


def read_failed(path: Path) -> FailedFile | None:
    """Read one record of `failed/`; None when it has just gone. Raises UnreadableError."""
    return _read(path, _FAILED)


def read_evaluation(path: Path) -> EvaluationFile | None:
    """Read one file of `evaluations/`; None when it has just gone. Raises UnreadableError."""
    return _read(path, _EVALUATION)


def _read(path: Path, shape: TypeAdapter[Shape]) -> Shape | None:
    try:
        return shape.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> UnreadableError:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        what = f"{key}: {first['msg']}" if key else first["msg"]
    elif isinstance(error, OSError):
        what = error.strerror or type(error).__name__
    elif isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        what = f"{error.problem} in line {error.problem_mark.line + 1}"
    else:
        what = str(error).partition("\n")[0] or type(error).__name__
    return UnreadableError(f"{path.name}: {what}")
