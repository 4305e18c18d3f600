"""The kind of device that a run trains on, by its settings and by what is there, and what it took of it."""

from __future__ import annotations

import resource
import sys

import torch

from xformer.config import schema


def training_device(settings: schema.Trainer) -> torch.device:
    """A GPU where one is asked for, or may be taken and is there; which of several is the rank's matter."""
    gpu = settings.accelerator == "gpu" or (settings.accelerator == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if gpu else "cpu")


def peak_memory(device: torch.device) -> int:
    """Bytes: the most of a GPU's memory, or of this process on a CPU, that was in use so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024  # what getrusage counts in
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
