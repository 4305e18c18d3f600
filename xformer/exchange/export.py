"""The command `xformer export`: a trained run in a format that other programs read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xformer.config import schema
from xformer.errors import UserError
from xformer.exchange import ctranslate2_check, marian, plain
from xformer.exchange.folder import Origin, check_free, export_folder
from xformer.exchange.marian_config import check_expressible
from xformer.runs.folder import RunFolder
from xformer.runs.trained import Trained, load


@dataclass(frozen=True)
class Format:
    """One way to write a model."""

    name: str
    files: frozenset[str]
    check: Callable[[schema.Model], None]
    """Raises UserError that names what the format cannot express."""
    write: Callable[[Trained, Path, Origin], None]
    remark: Callable[[schema.Model], str]
    """What the user must know of this model in this format, or nothing."""
    tokenizers: tuple[str, ...] = ("bpe",)
    """The kinds of tokenizers that it has a place for."""


def _write_ctranslate2(trained: Trained, folder: Path, origin: Origin) -> None:
    from xformer.exchange import ctranslate2_format  # needs a library that not everyone has

    ctranslate2_format.write(trained, folder, origin)


FORMATS = {
    each.name: each
    for each in (
        Format(
            plain.FORMAT, plain.FILES, lambda _: None, plain.write, lambda _: "", ("bpe", "sentencepiece")
        ),
        Format(marian.FORMAT, marian.FILES, check_expressible, marian.write, marian.warning),
        Format(
            ctranslate2_check.FORMAT, ctranslate2_check.FILES, ctranslate2_check.check, _write_ctranslate2,
            lambda _: "",
        ),
    )
}  # fmt: skip


def export(options: argparse.Namespace) -> int:
    """Write the export; it stands whole, or nothing has changed."""
    format = FORMATS[options.to]
    run = RunFolder(options.folder)
    config = run.config()
    format.check(config.model)
    if config.tokenizer.kind not in format.tokenizers:
        raise UserError(
            f"{run.path}: an imported SentencePiece tokenizer has no place in the format {format.name}; "
            f"--to {plain.FORMAT} takes it"
        )
    check_free(options.out, format.name, format.files)
    trained = load(run, average=options.average)
    origin = Origin(format.name, run.path.resolve().name, trained.update, trained.averaged)
    with export_folder(options.out, origin) as folder:
        format.write(trained, folder, origin)
    print(options.out)
    if remark := format.remark(trained.config.model):
        print(f"\n{remark}")
    return 0
