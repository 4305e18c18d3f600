"""One update of the model, the same whatever the number of devices (docs/design.md, decisions 1 and 2).

An item of the loader is this rank's share of an update: some micro-batches, perhaps none. Each adds its
gradient of

    Σ loss over its real target tokens / Σ target tokens of the whole update, over all ranks

so that the sum over micro-batches and ranks is the exact mean over the update's tokens, not a mean of
means. Ranks exchange gradients once an update, during the last backward pass. What the update came to
stays on the device, unread; whoever keeps the books decides when to wait for it.

Shapes: B batch, T target length, N real target positions, D d_model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, cast

import lightning.pytorch as lightning
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor

from xformer.config import schema
from xformer.data.batch import Batch
from xformer.data.loader import Update
from xformer.model.seq2seq import Seq2Seq
from xformer.training import checkpoints, precision, seeding
from xformer.training.compiling import Forward
from xformer.training.objective import loss_sums, output_weight, real_positions
from xformer.training.optimizer import build_adam, clip_gradient
from xformer.training.schedule import learning_rate


class TranslationModule(lightning.LightningModule):
    """The model with its objective, optimizer and schedule; steps the optimizer by hand."""

    def __init__(
        self, model: Seq2Seq, config: schema.Config, *, forward: Forward, tokenizer_hash: str
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.model = model
        self.config = config
        self.tokenizer_hash = tokenizer_hash
        self.compute_hidden = forward  # a function, not a module: it adds no names to the state dict

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return build_adam(self.model.parameters(), self.config.optim)

    def learning_rate(self, update: int) -> float:
        """The rate of an update, counted from 1."""
        config = self.config
        return learning_rate(
            update, config.optim, d_model=config.model.d_model, updates=config.trainer.updates
        )

    def training_step(self, update: Update) -> dict[str, Tensor]:
        """Compute the gradient of one update and follow it.

        `sums` holds Σ loss and Σ NLL of this rank's micro-batches in nats, and the norm of the gradient
        of the whole update before clipping; float64, on the device.
        """
        optimizer = cast(torch.optim.Optimizer, self.optimizers())
        optimizer.zero_grad()
        loss, nll = self.add_gradient(update)
        (group,) = optimizer.param_groups
        norm = clip_gradient(group["params"], self.config.optim.gradient_clip)
        group["lr"] = self.learning_rate(update.number + 1)
        optimizer.step()
        return {"sums": torch.stack([loss, nll, norm.double()])}

    def add_gradient(self, update: Update) -> tuple[Tensor, Tensor]:
        """Add this update's gradient to the parameters'; return this rank's Σ loss and Σ NLL."""
        world = self.trainer.world_size
        loss = torch.zeros((), dtype=torch.float64, device=self.device)
        nll = torch.zeros_like(loss)
        for micro_batch, is_last in _with_last(update.micro_batches):
            seeding.seed_dropout(self.config.seed, update.number, micro_batch.number, self.device)
            loss_sum, nll_sum = self.micro_batch_sums(micro_batch.batch)
            with contextlib.nullcontext() if is_last else self._unsynchronised():
                # DDP takes the mean over ranks where the sum is meant: hence the factor.
                self.manual_backward(loss_sum * (world / update.target_tokens))
            loss += loss_sum.detach()
            nll += nll_sum
        if not update.micro_batches:  # the others wait for a gradient from here
            nothing = torch.stack([parameter.sum() * 0 for parameter in self.model.parameters()]).sum()
            self.manual_backward(nothing)
        return loss, nll

    def micro_batch_sums(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Σ smoothed loss, with its graph, and Σ NLL of one micro-batch, which may lie on the CPU still."""
        real_N = real_positions(batch.target_out_BT).to(self.device, non_blocking=True)
        batch = batch.to(self.device, non_blocking=True)
        target_N = batch.target_out_BT.flatten().index_select(0, real_N)
        with precision.computing(self.config.trainer.precision, self.device):
            hidden_BTD = self.compute_hidden(batch.source_BS, batch.source_mask_BS, batch.target_in_BT)
            hidden_ND = hidden_BTD.flatten(0, 1).index_select(0, real_N)
            return loss_sums(
                hidden_ND, output_weight(self.model), target_N, self.config.optim.label_smoothing
            )

    def transfer_batch_to_device(self, batch: Update, device: torch.device, dataloader_idx: int) -> Update:
        """Leave an update where it is: its micro-batches go to the device one at a time."""
        return batch

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint[checkpoints.HEADER] = checkpoints.header(self.trainer.global_step, self.tokenizer_hash)

    def _unsynchronised(self) -> contextlib.AbstractContextManager[None]:
        strategy = self.trainer.strategy
        return (
            strategy.block_backward_sync() if isinstance(strategy, DDPStrategy) else contextlib.nullcontext()
        )


def _with_last(items: tuple[Any, ...]) -> Iterator[tuple[Any, bool]]:
    """Each item, and whether it is the last."""
    return ((item, number == len(items)) for number, item in enumerate(items, start=1))
