"""Small runs to train in a test: a corpus of reversed digits, a model of a few thousand weights."""

from __future__ import annotations

import csv
import dataclasses
import functools
import random
from pathlib import Path
from typing import Any

from torch import Tensor

from xformer.config import schema
from xformer.config.compose import compose
from xformer.data.prepare import Prepared, prepare
from xformer.training.checkpoints import path_of, read_checkpoint
from xformer.training.fit import FitResult, fit

DIGITS = "0123456789"


def write_corpus(folder: Path, *, pairs: int = 300, dev: int = 20, longest: int = 8, seed: int = 0) -> Path:
    """Strings of digits and, as their translation, the same digits backwards."""
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in (("train", pairs), ("valid", dev), ("test", dev)):
        sources = [" ".join(draw.choices(DIGITS, k=draw.randint(1, longest))) for _ in range(count)]
        targets = [source[::-1] for source in sources]
        for language, lines in (("fw", sources), ("bw", targets)):
            (folder / f"{split}.{language}").write_text("".join(line + "\n" for line in lines))
    return folder


@functools.cache
def _base() -> schema.Config:
    sizes = [
        "layers=1",
        "d_model=16",
        "d_ff=32",
        "heads=2",
        "key_value_heads=2",
        "d_k=8",
        "d_v=8",
        "dropout=0.1",
    ]
    return compose(
        [
            "scale=tiny",
            "data=files",
            "data.dir=unset",
            "data.max_length=40",
            "data.source=fw",
            "data.target=bw",
            "tracking=none",
            *[f"model.{size}" for size in sizes],
            "model.dropout=0.1",
            "tokenizer.vocabulary=270",
            "batch.tokens_per_update=120",
            "batch.tokens_per_device=60",
            "optim.warmup_updates=10",
            "decode.beam=1",
            "trainer.accelerator=cpu",
            "trainer.precision=fp32",
            "trainer.updates=20",
            "trainer.log_every=5",
            "trainer.validate_every=10",
            "trainer.validation_sentences=4",
            "trainer.checkpoint_every=10",
            "trainer.keep_checkpoints=2",
        ]
    )


def configure(folder: Path, **changes: Any) -> schema.Config:
    """The small configuration on the corpus in `folder/corpus`; changes as `trainer__updates=3`."""
    config = dataclasses.replace(_base(), cache_dir=str(folder / "cache"), runs_dir=str(folder / "runs"))
    return change(config, data__dir=str(folder / "corpus"), **changes)


def change(config: Any, **changes: Any) -> Any:
    """A frozen configuration with some values changed, at any depth: `model__dropout=0.0`."""
    for path, value in changes.items():
        name, _, rest = path.partition("__")
        new = change(getattr(config, name), **{rest: value}) if rest else value
        config = dataclasses.replace(config, **{name: new})
    return config


def small_run(folder: Path, **changes: Any) -> tuple[schema.Config, Prepared]:
    """A configuration and its data, the corpus written where there is none yet."""
    if not (folder / "corpus").exists():
        write_corpus(folder / "corpus")
    config = configure(folder, **changes)
    return config, prepare(config)


def train(config: schema.Config, prepared: Prepared, folder: Path, **arguments: Any) -> FitResult:
    """`fit` with nobody listening."""
    return fit(config, prepared, folder, **{"report": lambda _: None, "stop": lambda: None, **arguments})


def stop_after(calls: int) -> Any:
    """A `stop` that asks for one, as SIGTERM would, from its n-th call on."""
    count = 0

    def stop() -> int | None:
        nonlocal count
        count += 1
        return 15 if count >= calls else None

    return stop


def rows(folder: Path) -> list[dict[str, str]]:
    """The rows of a run's metrics.csv."""
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def checkpoint(folder: Path, update: int) -> dict[str, Any]:
    """The checkpoint of an update."""
    return read_checkpoint(path_of(folder / "checkpoints", update))


def adam_moments(folder: Path, update: int, which: str = "exp_avg") -> list[Tensor]:
    """Adam's first (or second: `exp_avg_sq`) moments after an update, parameter by parameter."""
    (state,) = checkpoint(folder, update)["optimizer_states"]
    return [state["state"][number][which] for number in sorted(state["state"])]
