"""The commands that use a trained run: `xformer evaluate` and `xformer translate`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import torch
from tqdm import tqdm

from xformer.data.corpus import stream_lines
from xformer.data.prepare import prepare
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import translate_stream
from xformer.errors import UserError
from xformer.files import write_atomic, write_json
from xformer.runs.evaluation import evaluate as evaluate_split
from xformer.runs.folder import RunFolder
from xformer.runs.identity import decoding_hash
from xformer.runs.trained import Trained, load
from xformer.scoring.counts import write_counts


def evaluate(options: argparse.Namespace) -> int:
    """Score splits of the run's corpus into `evaluations/<hash>.json`; `result.json` stays as it is."""
    trained, settings, digest = _open(options)
    prepared = prepare(trained.config)
    if prepared.tokenizer_hash != trained.tokenizer.digest:
        raise UserError(
            f"{trained.folder.path}: its corpus has changed since it was trained; score it where it was"
        )
    path = trained.folder.evaluations / f"{digest}.json"
    path.parent.mkdir(exist_ok=True)
    scores = trained.folder.evaluation(digest) or {
        "beam": settings.beam,
        "alpha": settings.alpha,
        "extra_length": settings.extra_length,
        "averaged_checkpoints": trained.averaged,
        "update": trained.update,
        "splits": {},
    }
    for split in options.split or ["test"]:
        data = prepared.evaluation(split)
        with tqdm(
            total=len(data), desc=f"translate {split}", unit=" lines", leave=False, disable=None
        ) as bar:
            found = evaluate_split(trained, data, settings, bar.update)
        scores["splits"][split] = found.summary()
        text = trained.folder.evaluations / f"{digest}.{split}.txt"
        write_atomic(text, found.text())
        write_counts(text, found.hypotheses, data.reference_lines)
        write_json(path, scores)
        print(f"{split}: {found.scores.sentences} sentences, perplexity {found.perplexity:.3f}")
        for name in ("bleu", "chrf", "ter"):
            print(f"  {name:4} {getattr(found.scores, name):6.2f}  {found.scores.signature[name]}")
    print(path)
    return 0


def translate(options: argparse.Namespace) -> int:
    """Translate line by line, n lines in and n lines out."""
    trained, settings, _ = _open(options)
    lines = (
        stream_lines(options.input)
        if options.input
        else (line.rstrip("\n").rstrip("\r") for line in _stdin())
    )
    cut = 0
    with (
        _output(options.output) as out,
        tqdm(desc="translate", unit=" lines", leave=False, disable=None) as bar,
    ):
        for translation in translate_stream(
            trained.model,
            trained.tokenizer,
            lines,
            settings,
            trained.config.decode.tokens_per_batch,
            bar.update,
        ):
            cut += translation.source_cut
            out.write(translation.text + "\n")
            out.flush()
    if cut:
        print(
            f"xformer: {cut} lines were longer than the model has positions for and were cut", file=sys.stderr
        )
    return 0


def _open(options: argparse.Namespace) -> tuple[Trained, SearchSettings, str]:
    """The run, how to search, and the hash that names results of this search."""
    if options.threads:
        torch.set_num_threads(options.threads)
    folder = RunFolder(options.folder)
    decode = folder.config().decode
    given = {name: getattr(options, name) for name in ("beam", "alpha", "extra_length", "average")}
    decode = dataclasses.replace(
        decode, **{name: value for name, value in given.items() if value is not None}
    )
    trained = load(folder, average=decode.average, device=_device())
    settings = SearchSettings(decode.beam, decode.alpha, decode.extra_length)
    return trained, settings, decoding_hash(decode)


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _stdin() -> IO[str]:
    """Standard input, its lines ended by LF only."""
    return open(sys.stdin.fileno(), encoding="utf-8", newline="\n", closefd=False)


@contextlib.contextmanager
def _output(path: Path | None) -> Iterator[IO[str]]:
    if path is None:
        with open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False) as out:
            yield out
        return
    try:
        with path.open("w", encoding="utf-8", newline="\n") as out:
            yield out
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
