"""The command `xformer translate`, a filter: n lines in, n lines out, in order (docs/decoding.md)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from xformer.config import schema
from xformer.decoding.alignment import align, pharaoh
from xformer.decoding.sampling import Sampling
from xformer.decoding.search import SearchSettings
from xformer.decoding.strategy import Strategy
from xformer.decoding.translate import Translation, cut, translate
from xformer.errors import UserError
from xformer.runs.lines import opened_output, windows
from xformer.runs.opening import decoding, open_run
from xformer.runs.trained import Trained

T = TypeVar("T")


def run(options: argparse.Namespace) -> int:
    """Translate until the input ends; says on standard error how many lines were cut."""
    _check(options)
    decode = decoding(options)
    strategy = _strategy(options, decode)
    trained = open_run(options, decode)
    columns = Columns(options.nbest > 1, options.scores, options.attention)
    translated = cut_short = 0
    with opened_output(options.output) as out, _progress(options) as bar:
        for lines in windows(options.input):
            translations = translate(
                trained.model, trained.tokenizer, lines, strategy, decode.tokens_per_batch, bar.update
            )
            for row in columns.rows(trained, lines, translations, first=translated + 1):
                out.write(f"{row}\n".encode())
            out.flush()
            translated += len(lines)
            cut_short += sum(each.source_cut for each in translations)
    if cut_short:
        told = f"xformer: {cut_short} lines were longer than the model has positions for and were cut"
        print(told, file=sys.stderr)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse options without effect, before anything is loaded."""
    names = ("temperature", "top_p", "seed")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is not None]
    if given and not options.sample:
        raise UserError(f"{' and '.join(given)} can do nothing without --sample")
    if options.sample and options.beam is not None:
        raise UserError("--beam and --sample are two ways of decoding: give one of them")


def _strategy(options: argparse.Namespace, decode: schema.Decode) -> Strategy:
    if not options.sample:
        return SearchSettings.of(decode, nbest=options.nbest)
    return Sampling(
        temperature=_or(options.temperature, 1.0),
        top_p=_or(options.top_p, 1.0),
        seed=_or(options.seed, 1),
        nbest=options.nbest,
        alpha=decode.alpha,
        extra_length=decode.extra_length,
        min_length=decode.min_length,
        max_length=decode.max_length,
    )


def _or(value: T | None, default: T) -> T:
    return default if value is None else value


@dataclass(frozen=True)
class Columns:
    """Which columns stand around a translation, TAB between: number, score, log-probability, text, alignment.

    Without any the line is the translation alone, and its TABs are its own.
    """

    number: bool
    scores: bool
    alignment: bool

    def rows(
        self, trained: Trained, lines: Sequence[str], translations: Sequence[Translation], first: int
    ) -> Iterator[str]:
        """One row for each candidate of each line; lines are counted from `first`."""
        alone = not (self.number or self.scores or self.alignment)
        alignments = iter(_alignments(trained, lines, translations) if self.alignment else ())
        for number, translation in enumerate(translations, start=first):
            for candidate in translation.candidates:
                row = [str(number)] if self.number else []
                if self.scores:
                    row += [f"{candidate.score:.6f}", f"{candidate.log_probability:.6f}"]
                row.append(candidate.text if alone else candidate.text.replace("\t", " "))
                if self.alignment:
                    row.append(next(alignments))
                yield "\t".join(row)


def _alignments(trained: Trained, lines: Sequence[str], translations: Sequence[Translation]) -> Iterator[str]:
    """In Pharaoh's format, of every candidate in order."""
    encoded = [cut(ids, trained.model.max_source_length) for ids in trained.tokenizer.encode(lines)]
    pairs = [
        (source, candidate.ids)
        for source, translation in zip(encoded, translations, strict=True)
        for candidate in translation.candidates
    ]
    found = align(
        trained.model, [source for source, _ in pairs], [target for _, target in pairs],
        trained.config.decode.tokens_per_batch,
    )  # fmt: skip
    return map(pharaoh, found)


def _progress(options: argparse.Namespace) -> tqdm[Any]:
    """Lines done, on a terminal only, and not among the translations or within the first seconds."""
    among = options.output is None and sys.stdout.isatty()
    shown = sys.stderr.isatty() and not among
    total = _count(options) if shown else None
    return tqdm(
        desc="translate", total=total, unit=" lines", leave=False, disable=not shown, delay=2, file=sys.stderr
    )


def _count(options: argparse.Namespace) -> int | None:
    """Lines of a plain input file, of which no other use is made."""
    path: Path | None = options.input
    if path is None or path.suffix == ".gz" or not path.is_file():
        return None
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
