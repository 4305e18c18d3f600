"""What `result.json` says of a finished run."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from xformer import __version__
from xformer.config.sizes.accounting import parameters
from xformer.config.sizes.flops import flops
from xformer.data.prepare import Prepared
from xformer.model.counting import counted_parameters
from xformer.runs.evaluation import Evaluation
from xformer.runs.folder import Status
from xformer.runs.identity import decoding_hash, decoding_settings
from xformer.runs.machine import commit
from xformer.runs.trained import Trained
from xformer.training.fit import FitResult

LIBRARIES = ("torch", "lightning", "tokenizers", "sacrebleu", "numpy")


def result(
    trained: Trained, status: Status, outcome: FitResult, prepared: Prepared, wall_seconds: float,
    evaluations: dict[str, Evaluation],
) -> dict[str, Any]:  # fmt: skip
    """All of it; `evaluations` holds dev and test."""
    config, vocabulary = trained.config, trained.tokenizer.vocabulary
    counted = sum(counted_parameters(trained.model).values())
    cost = flops(config.model, vocabulary)
    return {
        "run_id": status.run_id,
        "row_hash": status.row_hash,
        "experiment": config.experiment,
        "overrides": status.overrides,
        "seed": config.seed,
        "scale": config.scale.name,
        "data": prepared.corpus.name,
        "data_hash": prepared.data_hash,
        "dropped_pairs": prepared.dropped,
        "tokenizer": prepared.tokenizer_hash,
        "vocabulary": vocabulary,
        "commit": commit(),
        "versions": {"xformer": __version__, "python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
        "device": device_name(next(trained.model.parameters()).device),
        "parameters": counted,
        "parameters_closed_form": sum(parameters(config.model, vocabulary).values()),
        # One forward pass, the mean of a source and a target token; training costs three times as much.
        "flops_per_token": cost.token,
        "flops_per_source_token": cost.source_token,
        "flops_per_target_token": cost.target_token,
        "updates": outcome.updates,
        "epochs": outcome.epochs,
        "train_tokens_per_second": outcome.train_tokens_per_second,
        "padding_share": outcome.padding_share,
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "wall_seconds": wall_seconds,
        "longest_source": prepared.longest_source,
        "averaged_checkpoints": trained.averaged,
        "decode": decoding_settings(config.decode),
        "decoding_hash": decoding_hash(config.decode),
    } | {name: evaluation.summary() for name, evaluation in evaluations.items()}  # fmt: skip


def device_name(device: torch.device) -> str:
    """The GPU, or the processor and its threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{_processor()}, {torch.get_num_threads()} threads"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
