"""Where randomness comes from: a seed for each thing that draws, never a stream that must be saved.

Dropout of a micro-batch is seeded by (seed, update, micro-batch), so it is the same on whichever rank
the micro-batch lands, and the same after a resume (docs/design.md, decisions 1 and 3).
"""

from __future__ import annotations

import hashlib

import torch


def derive(seed: int, *place: object) -> int:
    """A 63-bit seed for one place in the run, independent of machine, process and Python version."""
    text = " ".join(str(part) for part in (seed, *place))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def seed_initialisation(seed: int) -> None:
    """Seed the draws that build the model."""
    torch.manual_seed(derive(seed, "initialisation"))


def seed_dropout(seed: int, update: int, micro_batch: int, device: torch.device) -> None:
    """Seed the dropout of one micro-batch on the device that computes it."""
    # torch.manual_seed would format a stack trace, milliseconds each time, where there is no GPU.
    cuda = device.type == "cuda"
    generator = torch.cuda.default_generators[device.index or 0] if cuda else torch.default_generator
    generator.manual_seed(derive(seed, "dropout", update, micro_batch))
