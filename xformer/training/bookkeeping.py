"""What happens around updates: counting, looking for divergence, checkpoints, validation, rows, stopping.

After each update, in this order:

1. Read what it came to (on a GPU and under several ranks only when something below needs it, since
   reading waits for the device) and stop if the run has diverged.
2. Write the checkpoint, if one is due or a stop was asked for.
3. Settle the interval, if a row is due: look at the dev set, write the row.

A checkpoint thus holds an interval that is not settled yet. A run that goes on from it settles first
what the row's absence from metrics.csv shows to be unsettled, so no row is missing and none is twice.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import lightning.pytorch as lightning
import torch
from torch import Tensor

from xformer.config import schema
from xformer.data.loader import Update
from xformer.errors import Stopped
from xformer.training import checkpoints
from xformer.training.device import peak_memory
from xformer.training.divergence import DivergenceWatch
from xformer.training.ledger import Ledger
from xformer.training.metrics import MetricsFile, Row
from xformer.training.module import TranslationModule
from xformer.training.progress import ProgressReporter
from xformer.training.ranks import Ranks
from xformer.training.validation import Validation

State = Literal["finished", "diverged", "interrupted"]

# Several ranks must stop at the same update, and to ask one another costs a wait: at every eighth update at
# most, but where updates are slow often enough that a stop leaves time to write a checkpoint.
_UPDATES_BETWEEN_QUESTIONS = 8
_SECONDS_BETWEEN_QUESTIONS = 4.0


class _Unread(NamedTuple):
    """An update whose sums still lie on the device."""

    update: int  # counted from 1
    source_tokens: int
    target_tokens: int
    sums: Tensor  # as `TranslationModule.training_step` returns them


class Bookkeeping(lightning.Callback):
    """Keeps the books of one run and decides, after each update, what comes next."""

    def __init__(
        self,
        config: schema.Config,
        folder: Path,
        *,
        updates_per_epoch: int,
        watch: DivergenceWatch,
        validation: Validation,
        reporter: ProgressReporter,
        ranks: Ranks,
        stop: Callable[[], int | None],
    ) -> None:
        self.state: State = "finished"
        self.reason: str | None = None
        self.ledger = Ledger()
        self.updates = 0
        self.peak_memory = 0  # bytes, of all starts of the run up to the last checkpoint
        self._settings = config.trainer
        self._checkpoints = folder / "checkpoints"
        self._metrics = MetricsFile(folder / "metrics.csv")
        self._updates_per_epoch = updates_per_epoch
        self._watch = watch
        self._validation = validation
        self._reporter = reporter
        self._ranks = ranks
        self._stop = stop
        self._unread: list[_Unread] = []
        self._saved = 0  # the update of the last checkpoint
        self._asked = self._next_question = 0  # the last and the next update at which ranks ask one another
        self._asked_at = self._clock = time.perf_counter()
        self._sigterm = signal.getsignal(signal.SIGTERM)

    # --- Lightning's hooks ---

    def state_dict(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger.state(),
            "streak": self._watch.streak,
            "peak_memory": self.peak_memory,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.ledger = Ledger.from_state(state_dict["ledger"])
        self._watch.streak = state_dict["streak"]
        self.peak_memory = state_dict.get("peak_memory", 0)  # older checkpoints do not know

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        # Lightning has put a handler of its own before that of whoever asked for a graceful stop.
        if self._sigterm is not None:
            signal.signal(signal.SIGTERM, self._sigterm)
        self.updates = self._saved = trainer.global_step
        self._reporter.begin(self.updates)
        if self._unsettled():
            self._settle(trainer, cast(TranslationModule, pl_module))
        elif self._row_due():
            self.ledger.close_interval()
        self._asked, self._asked_at = self.updates, time.perf_counter()
        self._clock = time.perf_counter()

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Update,
        batch_idx: int,
    ) -> None:
        module = cast(TranslationModule, pl_module)
        self.updates = batch.number + 1
        self._unread.append(_Unread(self.updates, batch.source_tokens, batch.target_tokens, outputs["sums"]))
        stopping = self._stop_asked()
        saving = stopping or self._checkpoint_due()
        if saving or self._row_due() or self._reading_is_free():
            self._read()
        self.ledger.spend(time.perf_counter() - self._clock)
        if self.state == "diverged":
            self._write_row(module, perplexity=None, bleu=None)
            trainer.should_stop = True
            return
        if saving:
            self._save(trainer)
        if stopping:
            self._interrupt(trainer)
        elif self._row_due():
            self._settle(trainer, module)
        self._reporter.report("training", self.updates, batch.epoch, self.ledger)
        self._clock = time.perf_counter()

    # --- what is due ---

    def _is_last(self) -> bool:
        return self.updates == self._settings.updates

    def _checkpoint_due(self) -> bool:
        return self.updates % self._settings.checkpoint_every == 0 or self._is_last()

    def _validation_due(self) -> bool:
        return self.updates % self._settings.validate_every == 0 or self._is_last()

    def _row_due(self) -> bool:
        return self.updates % self._settings.log_every == 0 or self._validation_due()

    def _unsettled(self) -> bool:
        """Whether the run goes on from an update whose row was never written. Cuts what lies beyond."""
        written = 0
        if self._ranks.rank == 0:
            self._metrics.rewind(self.updates)
            written = self._metrics.last_update()
        return self.updates > 0 and self._row_due() and self._ranks.max(written) < self.updates

    def _reading_is_free(self) -> bool:
        return self._ranks.world == 1 and self._ranks.device.type == "cpu"

    def _stop_asked(self) -> bool:
        """Whether to stop after this update, the same answer on all ranks."""
        if self._ranks.world == 1:
            return self._stop() is not None
        if self.updates < self._next_question and not self._is_last():
            return False
        now = time.perf_counter()
        seconds = self._ranks.max((now - self._asked_at) / max(1, self.updates - self._asked))
        affordable = int(_SECONDS_BETWEEN_QUESTIONS / max(seconds, 1e-9))
        self._asked, self._asked_at = self.updates, now
        self._next_question = self.updates + min(max(1, affordable), _UPDATES_BETWEEN_QUESTIONS)
        return self._ranks.max(float(self._stop() is not None)) > 0

    # --- doing it ---

    def _read(self) -> None:
        """Enter the updates made since the last reading into the books; notice the first to diverge."""
        unread, self._unread = self._unread, []
        values_N3 = torch.stack([each.sums for each in unread])
        # Each rank has the loss of its own micro-batches, and all the same norm.
        losses_N2 = self._ranks.sum(values_N3[:, :2])
        norms_N = values_N3[:, 2].tolist()
        for each, (loss, nll), norm in zip(unread, losses_N2.tolist(), norms_N, strict=True):
            self.ledger.enter(
                source_tokens=each.source_tokens,
                target_tokens=each.target_tokens,
                loss=loss,
                nll=nll,
                gradient_norm=norm,
            )
            reason = self._watch.look(each.update, loss / each.target_tokens, norm)
            if reason is not None:
                self.state, self.reason, self.updates = "diverged", reason, each.update
                return

    def _save(self, trainer: lightning.Trainer) -> None:
        self.peak_memory = max(self.peak_memory, peak_memory(self._ranks.device))
        trainer.save_checkpoint(checkpoints.path_of(self._checkpoints, self.updates), weights_only=False)
        self._saved = self.updates
        if self._ranks.rank == 0:
            checkpoints.prune(
                self._checkpoints,
                newest=self.updates,
                keep=self._settings.keep_checkpoints,
                every=self._settings.checkpoint_every,
            )

    def _settle(self, trainer: lightning.Trainer, module: TranslationModule) -> None:
        """Write the row of the interval that ends here, after a look at the dev set where one is due."""
        perplexity = bleu = None
        if self._validation_due():
            scores = self._validation.look(module.model, self._between_batches)
            if scores is None:
                if self._saved != self.updates:
                    self._save(trainer)
                self._interrupt(trainer)
                return
            perplexity, bleu = scores.perplexity, scores.bleu
        self._write_row(module, perplexity, bleu)
        self.ledger.close_interval()

    def _between_batches(self) -> None:
        if self._stop() is not None:
            raise Stopped
        self._reporter.report("validating", self.updates, int(self._epochs()), self.ledger)

    def _interrupt(self, trainer: lightning.Trainer) -> None:
        self.state, self.reason = "interrupted", f"stopped after update {self.updates}"
        trainer.should_stop = True

    def _write_row(self, module: TranslationModule, perplexity: float | None, bleu: float | None) -> None:
        interval = self.ledger.interval
        row = Row(
            update=self.updates,
            tokens=self.ledger.total.tokens,
            epoch=self._epochs(),
            loss=interval.mean_loss,
            nll=interval.mean_nll,
            learning_rate=module.learning_rate(self.updates),
            gradient_norm=self.ledger.gradient_norm,
            tokens_per_second=interval.tokens_per_second,
            dev_perplexity=perplexity,
            dev_bleu=bleu,
        )
        if self._ranks.rank == 0:
            self._metrics.append(row)
            self._reporter.log(row)

    def _epochs(self) -> float:
        return self.updates / self._updates_per_epoch
