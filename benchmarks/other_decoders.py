"""One run's translations by other programs.

`python -m benchmarks.other_decoders RUN --input FILE --reference FILE` exports the run to Marian's format and
to CTranslate2's. All search with the same beam, without a length penalty (the formulas differ) and until
nothing better can follow. Where a translation differs from ours, our model says how probable it finds both.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import xformer
from xformer.cli import main as command
from xformer.data.corpus import read_lines
from xformer.data.vocabulary import BOS, PAD, UNK
from xformer.decoding.likelihood import log_probabilities
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import cut, one_line
from xformer.runs.translator import Translator
from xformer.scoring.corpus import score

LONGEST = 100  # tokens; none of the translations below comes near it
AT_ONCE = 50  # sentences of similar length
ROUNDING = 1e-3  # of a log-probability

Ids = list[list[int]]


@dataclass(frozen=True)
class Decoded:
    """What a program wrote, and how long it took."""

    name: str
    ids: Ids
    seconds: float


def main() -> None:
    """Translate by all programs, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.other_decoders", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--input", type=Path, required=True, metavar="FILE")
    parser.add_argument("--reference", type=Path, required=True, metavar="FILE")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    run = xformer.load(options.run, device="cpu")
    lines, references = read_lines(options.input), read_lines(options.reference)
    sources = run.trained.tokenizer.encode(lines)
    how = SearchSettings(beam=options.beam, alpha=0.0, extra_length=LONGEST, max_length=LONGEST)
    found = [
        _timed("xformer", lambda: [list(each.candidates[0].ids) for each in run.translations(lines, how)])
    ]
    with tempfile.TemporaryDirectory() as name:
        for format in ("marian", "ctranslate2"):
            command(["export", str(options.run), "--to", format, "--out", f"{name}/{format}"])
        found.append(_timed("transformers", lambda: transformers(f"{name}/marian", sources, options.beam)))
        for kind in ("float32", "int8"):
            found.append(
                _timed(
                    f"CTranslate2 {kind}",
                    lambda kind=kind: ctranslate2(  # type: ignore[misc]
                        f"{name}/ctranslate2", kind, run, sources, options.beam, options.threads
                    ),
                )
            )
    print(
        f"\n| beam {options.beam} | BLEU | equal strings | others: ours more probable | theirs | alike | s |"
    )
    print("|---|---|---|---|---|---|---|")
    for each in found:
        print(_row(run, sources, references, found[0], each))


def transformers(folder: str, sources: Ids, beam: int) -> Ids:
    """By Hugging Face's Marian."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import MarianMTModel

    model = MarianMTModel.from_pretrained(folder).eval()
    written: Ids = [[] for _ in sources]
    for batch in _batches(sources):
        rows = [cut(sources[i], None) for i in batch]
        width = max(map(len, rows))
        ids = torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
        found = model.generate(
            input_ids=ids, attention_mask=(ids != PAD).long(), num_beams=beam, length_penalty=0.0,
            early_stopping=False, max_length=None, max_new_tokens=LONGEST,
        )  # fmt: skip
        for i, row in zip(batch, found.tolist(), strict=True):
            written[i] = [token for token in row if token > UNK]
    return written


def ctranslate2(folder: str, kind: str, run: Translator, sources: Ids, beam: int, threads: int) -> Ids:
    """By CTranslate2."""
    import ctranslate2

    names = run.trained.tokenizer.names()
    number = {name: token for token, name in enumerate(names)}
    translator = ctranslate2.Translator(folder, compute_type=kind, inter_threads=1, intra_threads=threads)
    found = translator.translate_batch(
        [[names[token] for token in ids] for ids in sources],
        beam_size=beam, length_penalty=0, min_decoding_length=0, max_decoding_length=LONGEST,
        max_batch_size=AT_ONCE, suppress_sequences=[[names[token]] for token in (PAD, BOS, UNK)],
    )  # fmt: skip
    return [[number[name] for name in each.hypotheses[0]] for each in found]


def _batches(sources: Ids) -> list[list[int]]:
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    return [order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE)]


def _timed(name: str, translate: Callable[[], Ids]) -> Decoded:
    began = time.perf_counter()
    ids = translate()
    return Decoded(name, ids, time.perf_counter() - began)


def _row(run: Translator, sources: Ids, references: list[str], ours: Decoded, theirs: Decoded) -> str:
    """Of the table: which strings differ, and what our model says of both."""
    texts: list[list[str]] = [
        [one_line(text) for text in run.trained.tokenizer.decode(each.ids)] for each in (ours, theirs)
    ]
    other = [i for i, pair in enumerate(zip(*texts, strict=True)) if pair[0] != pair[1]]
    gaps: Sequence[Any] = []
    if other:
        probable = [
            log_probabilities(
                run.trained.model, [cut(sources[i], None) for i in other], [each.ids[i] for i in other], 2000
            )
            for each in (ours, theirs)
        ]
        gaps = [one - two for one, two in zip(*probable, strict=True)]
    more, less = sum(gap > ROUNDING for gap in gaps), sum(gap < -ROUNDING for gap in gaps)
    share = 1 - len(other) / len(sources)
    bleu = score(texts[1], references).bleu
    equal = len(other) - more - less
    return f"| {theirs.name} | {bleu:.2f} | {share:.1%} | {more} | {less} | {equal} | {theirs.seconds:.1f} |"


if __name__ == "__main__":
    main()
