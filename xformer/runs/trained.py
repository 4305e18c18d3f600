"""A trained run, loaded: its configuration, its tokenizer, its model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xformer.config import schema
from xformer.data.prepare import Prepared
from xformer.data.tokenizer import Tokenizer
from xformer.data.tokenizer_file import load_tokenizer
from xformer.errors import UserError
from xformer.model import build
from xformer.model.seq2seq import Seq2Seq
from xformer.runs.folder import RunFolder
from xformer.training import checkpoints

AVERAGED = "averaged"  # in a checkpoint's header: the updates whose mean it is


@dataclass(frozen=True)
class Trained:
    """What a run folder holds, ready to translate; `averaged` counts the checkpoints in the model."""

    folder: RunFolder
    config: schema.Config
    tokenizer: Tokenizer
    model: Seq2Seq
    update: int
    averaged: int


def load(folder: RunFolder, *, average: int | None = None, device: torch.device | None = None) -> Trained:
    """Load the model after the last update, or the mean of the last `average` checkpoints.

    The configuration says how many to average where `average` is None. Raises UserError for a folder that
    is no run, holds too few checkpoints, or whose tokenizer is not the one that the weights belong to.
    """
    config = folder.config()
    wanted = config.decode.average if average is None else average
    (newest,) = checkpoints.last_checkpoints(folder.checkpoints, 1)
    heading = checkpoints.read_checkpoint(newest)[checkpoints.HEADER]
    tokenizer = load_tokenizer(folder.tokenizer)
    if heading["tokenizer_hash"] != tokenizer.digest:
        raise UserError(f"{folder.tokenizer}: not the tokenizer that {newest.name} was trained with")
    model = build(config.model, tokenizer.vocabulary)
    checkpoints.put_weights(model, _weights(folder, newest, heading, wanted), newest)
    model.eval()
    if device is not None:
        model.to(device)
    return Trained(folder, config, tokenizer, model, checkpoints.update_of(newest), wanted)


def same_tokenizer(trained: Trained, prepared: Prepared) -> None:
    """Raise UserError where the corpus is not the one that the run was trained on."""
    if prepared.tokenizer_hash != trained.tokenizer.digest:
        raise UserError(
            f"{trained.folder.path}: its corpus has changed since it was trained; score it where it was"
        )


def default_device() -> torch.device:
    """A GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _weights(folder: RunFolder, newest: Path, heading: dict[str, Any], wanted: int) -> dict[str, Tensor]:
    """Those of the newest checkpoint or a mean, which an averaged run holds already."""
    mean_of = heading.get(AVERAGED)
    if mean_of is not None and len(mean_of) != wanted:
        raise UserError(
            f"{folder.path}: is the mean of {len(mean_of)} checkpoints, that of {wanted} cannot be had from "
            "it; average the run that it was made from"
        )
    if mean_of is not None or wanted == 1:
        return checkpoints.load_weights(newest)
    return checkpoints.average(checkpoints.last_checkpoints(folder.checkpoints, wanted))
