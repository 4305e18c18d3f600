"""Every experiment file there is, as small as its own scale allows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from xformer.config import schema
from xformer.config.compose import compose
from xformer.config.locations import config_root
from xformer.model import build
from xformer.model.seq2seq import Seq2Seq

_FOLDER = config_root() / "experiments"
EXPERIMENTS = sorted(file.relative_to(_FOLDER).with_suffix("").as_posix() for file in _FOLDER.rglob("*.yaml"))
VOCABULARY = 60

MASK = torch.arange(7)[None] < torch.tensor([7, 4])[:, None]
SOURCE = torch.randint(4, VOCABULARY, (2, 7), generator=torch.Generator().manual_seed(0)).where(MASK, 0)
TARGET = torch.randint(4, VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(1))


@cache
def row(experiment: str, *overrides: str) -> schema.Config:
    """The row at a sixteenth of the paper's width."""
    small = ["scale=tiny", "scale.width=1/16", "tracking=none", f"experiments={experiment}"]
    return compose([*small, *overrides])


def model_of(experiment: str, *, kernel: str = "auto", dropout: bool = False) -> Seq2Seq:
    """The row's model with weights that depend on nothing else, without dropout if not asked for."""
    config = row(experiment).model
    config = replace(config, attention=replace(config.attention, kernel=kernel))
    if not dropout:
        config = replace(
            config,
            dropout=0.0,
            attention=replace(config.attention, dropout=0.0),
            feedforward=replace(config.feedforward, dropout=0.0),
        )
    torch.manual_seed(1)
    return build(config, VOCABULARY)


def logits(model: Seq2Seq, source: Tensor = SOURCE, mask: Tensor = MASK, target: Tensor = TARGET) -> Tensor:
    """What the model says of every target position."""
    return model.logits(model(source, mask, target))
