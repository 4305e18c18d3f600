"""Train one run from wherever it stands to its last update."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from xformer.config import schema
from xformer.config.sizes.flops import TRAINING, flops
from xformer.data.loader import UpdateDataset, update_loader
from xformer.data.plan import UpdatePlan
from xformer.data.prepare import Prepared
from xformer.errors import UserError
from xformer.model import build
from xformer.training import checkpoints, precision, seeding
from xformer.training.bookkeeping import Bookkeeping, State
from xformer.training.compiling import training_forward
from xformer.training.device import peak_memory
from xformer.training.divergence import DivergenceWatch
from xformer.training.module import TranslationModule
from xformer.training.progress import Progress, ProgressReporter
from xformer.training.ranks import Ranks
from xformer.training.trainer import Stream, build_trainer, find_ranks, quiet
from xformer.training.validation import Validation

__all__ = ["FitResult", "Progress", "fit"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FitResult:
    """How training ended and what it took."""

    state: State
    reason: str | None
    updates: int
    epochs: float
    train_tokens_per_second: float  # real source and target tokens, in time spent training, over all ranks
    padding_share: float  # of all positions computed in training
    peak_memory_bytes: int  # of the GPU's memory, or of the process on a CPU; the largest of all ranks


def fit(
    config: schema.Config,
    prepared: Prepared,
    folder: Path,
    *,
    report: Callable[[Progress], None],
    track: Callable[[dict[str, float], int], None] = lambda values, update: None,
    stop: Callable[[], int | None] = lambda: None,
) -> FitResult:
    """Train in a run folder: from its newest loadable checkpoint, or from the beginning.

    Writes `metrics.csv` and `checkpoints/` there. `report` hears of progress at most twice a second,
    `track` the numbers of every row and the update they are of. When `stop` answers with a signal's number,
    the update under way is finished, a checkpoint written, and the outcome is `interrupted`. Raises
    UserError for a folder or a device that cannot be used.
    """
    settings = config.trainer
    if settings.threads > 0:
        torch.set_num_threads(settings.threads)
    ranks = find_ranks(settings)
    resume = _open_folder(folder / "checkpoints", prepared.tokenizer_hash, ranks)
    start = checkpoints.update_of(resume) if resume else 0
    vocabulary = prepared.tokenizer.vocabulary

    seeding.seed_initialisation(config.seed)
    model = build(config.model, vocabulary).to(precision.parameter_dtype(settings.precision))
    forward = training_forward(model, settings.compile, ranks.device, settings.updates)
    module = TranslationModule(model, config, forward=forward, tokenizer_hash=prepared.tokenizer_hash)
    plan = UpdatePlan(
        prepared.train.source_lengths,
        prepared.train.target_lengths,
        tokens_per_update=config.batch.tokens_per_update,
        tokens_per_device=config.batch.tokens_per_device,
        seed=config.seed,
    )
    dataset = UpdateDataset(prepared.train, plan, settings.updates, ranks.rank, ranks.world)
    on_gpu = ranks.device.type == "cuda"
    loader = update_loader(dataset, start, workers=2 if on_gpu else 0, pin_memory=on_gpu)
    books = Bookkeeping(
        config,
        folder,
        updates_per_epoch=plan.updates_per_epoch,
        watch=DivergenceWatch(vocabulary=vocabulary, warmup_updates=config.optim.warmup_updates),
        validation=Validation(config, prepared, ranks),
        reporter=ProgressReporter(
            report if ranks.rank == 0 else _nobody,
            track,
            updates_planned=settings.updates,
            flops_per_token=TRAINING * flops(config.model, vocabulary).token,
        ),
        ranks=ranks,
        stop=stop,
    )
    with quiet():
        trainer = build_trainer(settings, ranks, folder, callback=books)
        if ranks.rank == 0:
            if precision.slow_here(settings.precision, ranks.device):
                _log.warning("this processor has no bfloat16: trainer.precision=fp32 would be faster here")
            _log.info("training from update %d to %d on %s", start, settings.updates, ranks.describe())
        trainer.fit(module, train_dataloaders=Stream(loader), ckpt_path=resume, weights_only=True)
    if ranks.rank == 0 and books.reason is not None:
        _log.info("%s: %s", books.state, books.reason)
    total, peak = books.ledger.total, ranks.max(max(books.peak_memory, peak_memory(ranks.device)))
    ranks.part()
    return FitResult(
        state=books.state,
        reason=books.reason,
        updates=books.updates,
        epochs=books.updates / plan.updates_per_epoch,
        train_tokens_per_second=total.tokens_per_second,
        padding_share=plan.padding_share(),
        peak_memory_bytes=int(peak),
    )


def _open_folder(folder: Path, tokenizer_hash: str, ranks: Ranks) -> Path | None:
    """Make sure that checkpoints can be written, and find the one to go on from."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if ranks.rank == 0:
            checkpoints.remove_unfinished(folder)
            with tempfile.NamedTemporaryFile(dir=folder):
                pass
    except OSError as error:
        raise UserError(f"nothing can be written to {folder} ({error}); choose another runs_dir") from error
    path = checkpoints.newest_loadable(folder)
    if path is not None:
        found = checkpoints.read_checkpoint(path)[checkpoints.HEADER]["tokenizer_hash"]
        if found != tokenizer_hash:
            raise UserError(
                f"{path} was trained with another tokenizer ({found}, here {tokenizer_hash}): the text or "
                "the tokenizer's settings have changed since. Start a run in a new folder."
            )
    return path


def _nobody(_: Progress) -> None:
    """Hears nothing: one rank speaks for all."""
