"""Lightning's Trainer as it is used here: devices, strategy and checkpoints, nothing that speaks or draws."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.fabric.utilities.warnings import PossibleUserWarning
from lightning.pytorch.strategies import DDPStrategy

from xformer.config import schema
from xformer.errors import UserError
from xformer.training.checkpoint_io import AtomicCheckpointIO
from xformer.training.device import training_device
from xformer.training.ranks import Ranks


def find_ranks(settings: schema.Trainer) -> Ranks:
    """This process's place among those that share the run, and its device.

    Raises UserError where the GPUs asked for are not there, or the processes are not.
    """
    planned = settings.devices * settings.num_nodes
    world = int(os.environ.get("WORLD_SIZE", "1")) if planned > 1 else 1
    if world != planned:
        raise UserError(
            f"trainer.devices={settings.devices} trainer.num_nodes={settings.num_nodes} needs {planned} "
            f"processes under torchrun; here is {world}. `xformer train` starts them by itself."
        )
    rank, local_rank = (int(os.environ[name]) if world > 1 else 0 for name in ("RANK", "LOCAL_RANK"))
    if training_device(settings).type == "cpu":
        return Ranks(rank, world, torch.device("cpu"))
    if (present := torch.cuda.device_count()) < local_world(settings):
        raise UserError(
            f"trainer.accelerator={settings.accelerator} trainer.devices={settings.devices}: this machine "
            f"has {present} GPUs that PyTorch can use; ask for fewer, or for trainer.accelerator=cpu"
        )
    return Ranks(rank, world, torch.device("cuda", local_rank))


def local_world(settings: schema.Trainer) -> int:
    """Processes of the run on this machine."""
    return int(os.environ["LOCAL_WORLD_SIZE"]) if settings.devices * settings.num_nodes > 1 else 1


def build_trainer(
    settings: schema.Trainer, ranks: Ranks, folder: Path, *, callback: lightning.Callback
) -> lightning.Trainer:
    """A trainer for one pass over a run's updates; several ranks must have been started by torchrun."""
    here = local_world(settings)
    # Both are named outright, so that Lightning does not take a SLURM allocation around us for its own.
    environment = TorchElasticEnvironment() if ranks.world > 1 else LightningEnvironment()
    synchronised = DDPStrategy(
        process_group_backend="nccl" if ranks.device.type == "cuda" else "gloo",
        timeout=datetime.timedelta(seconds=settings.rank_timeout),
        broadcast_buffers=False,  # there are none that training changes
        gradient_as_bucket_view=True,
    )
    return lightning.Trainer(
        accelerator="gpu" if ranks.device.type == "cuda" else "cpu",
        devices=here,
        num_nodes=ranks.world // here,
        strategy=synchronised if ranks.world > 1 else "auto",
        plugins=[environment, AtomicCheckpointIO()],
        callbacks=[callback],
        logger=False,  # rows reach trackers through the callback, which knows when one is whole
        max_epochs=1,  # Lightning's epoch is the whole run; passes through the text are the plan's affair
        limit_val_batches=0,
        num_sanity_val_steps=0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=folder,
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep Lightning's tips and notices, which are about other uses of it, out of the log (fault S26)."""
    names = ("lightning.pytorch", "lightning.fabric")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PossibleUserWarning)
            warnings.filterwarnings("ignore", module=r"lightning\.")  # what it does itself with torch
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


class Stream:
    """The updates still to come. Has no length on purpose: after a resume Lightning would count the
    updates made before against it and end too early."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loader)
