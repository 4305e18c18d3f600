"""A trained run, loaded: its configuration, its tokenizer, its model."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from xformer.config import schema
from xformer.data.tokenizer import Tokenizer
from xformer.errors import UserError
from xformer.model import build
from xformer.model.seq2seq import Seq2Seq
from xformer.runs.folder import RunFolder
from xformer.training import checkpoints


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
    found = checkpoints.list_checkpoints(folder.checkpoints)
    if not found:
        raise UserError(f"{folder.checkpoints}: no checkpoint yet; train the run first")
    if not 1 <= wanted <= len(found):
        raise UserError(f"{folder.checkpoints}: {wanted} checkpoints to average, there are {len(found)}")
    tokenizer = Tokenizer.load(folder.tokenizer)
    newest = checkpoints.read_checkpoint(found[-1])[checkpoints.HEADER]
    if newest["tokenizer_hash"] != tokenizer.digest:
        raise UserError(f"{folder.tokenizer}: not the tokenizer that {found[-1].name} was trained with")
    model = build(config.model, tokenizer.vocabulary)
    weights = checkpoints.load_weights(found[-1]) if wanted == 1 else checkpoints.average(found[-wanted:])
    checkpoints.put_weights(model, weights, found[-1])
    model.eval()
    if device is not None:
        model.to(device)
    return Trained(folder, config, tokenizer, model, checkpoints.update_of(found[-1]), wanted)
