"""The kind of device that a run trains on, by its settings and by what is there."""

from __future__ import annotations

import torch

from xformer.config import schema


def training_device(settings: schema.Trainer) -> torch.device:
    """A GPU where one is asked for, or may be taken and is there; which of several is the rank's matter."""
    gpu = settings.accelerator == "gpu" or (settings.accelerator == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if gpu else "cpu")
