"""One contender of `benchmarks.decoding`, in a process of its own: prints a JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Translate = Callable[[Sequence[str]], list[str]]

BEAM, EXTRA = 4, 50
WARM_UP = 64  # sentences
TOKENS = 4000  # source tokens of a batch, as conf/decode/beam.yaml has it
SENTENCES = 128  # of a batch, where a program counts those


def xformer(run: Path, work: Path, threads: int) -> Translate:
    """As `xformer translate` does it."""
    import torch

    from xformer.decoding.search import SearchSettings
    from xformer.runs.machine import keep_memory
    from xformer.runs.translator import load

    keep_memory()
    torch.set_num_threads(threads)
    translator = load(run, device="cpu")
    how = SearchSettings(beam=BEAM, alpha=0.0, extra_length=EXTRA)
    return lambda lines: translator.translate(lines, how)


def transformers(run: Path, work: Path, threads: int) -> Translate:
    """`generate` in batches of similar length."""
    import torch
    from transformers import AutoTokenizer, MarianMTModel

    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(work / "marian")
    model = MarianMTModel.from_pretrained(work / "marian").eval()

    def translate(lines: Sequence[str]) -> list[str]:
        order = sorted(range(len(lines)), key=lambda i: -len(lines[i]))
        found = [""] * len(lines)
        for first in range(0, len(order), SENTENCES):
            some = order[first : first + SENTENCES]
            batch = tokenizer([lines[i] for i in some], padding=True, return_tensors="pt")
            longest = batch["input_ids"].shape[1] + EXTRA
            with torch.no_grad():
                output = model.generate(**batch, num_beams=BEAM, length_penalty=0.0, max_length=longest)
            texts = tokenizer.batch_decode(output, skip_special_tokens=True)
            for i, text in zip(some, texts, strict=True):
                found[i] = text
        return found

    return translate


def ctranslate2(run: Path, work: Path, threads: int, together: bool) -> Translate:
    """Its own batching, float32; the threads together on a batch, or a batch each."""
    from ctranslate2 import Translator

    from xformer.data.tokenizer import Tokenizer

    workers = {"inter_threads": 1, "intra_threads": threads}
    if not together:
        workers = {"inter_threads": threads, "intra_threads": 1}
    translator = Translator(str(work / "ctranslate2"), device="cpu", compute_type="float32", **workers)
    tokenizer = Tokenizer.load(run / "tokenizer.json")
    names = json.loads((work / "marian" / "tokenizer.json").read_text())["model"]["vocab"]
    name_of = {i: name for name, i in names.items()}

    def translate(lines: Sequence[str]) -> list[str]:
        sources = [[name_of[i] for i in ids] + [name_of[2]] for ids in tokenizer.encode(lines)]
        results = translator.translate_batch(
            sources, beam_size=BEAM, length_penalty=0.0, max_batch_size=TOKENS, batch_type="tokens",
            max_decoding_length=256, disable_unk=True, suppress_sequences=[[name_of[0]], [name_of[1]]],
        )  # fmt: skip
        return tokenizer.decode([names[piece] for piece in each.hypotheses[0]] for each in results)

    return translate


def to_marian(run: Path, work: Path) -> None:
    """The run as `transformers` reads it."""
    command = [sys.executable, "-m", "xformer.cli", "export", str(run), "--to", "marian"]
    subprocess.run(
        [*command, "--out", str(work / "marian")], check=True, stdout=sys.stderr, stderr=sys.stderr
    )


def to_ctranslate2(work: Path) -> None:
    """The Marian folder as CTranslate2 reads it.

    Its loader takes for granted that a Marian decoder starts from a zero vector and that the last row of the
    vocabulary is its padding. Neither is so here: the decoder starts from BOS, and padding is row 0.
    """
    from ctranslate2.converters import TransformersConverter, transformers

    class Loader(transformers.MarianMTLoader):  # type: ignore[misc]
        def set_config(self, config: Any, model: Any, tokenizer: Any) -> None:
            super().set_config(config, model, tokenizer)
            config.decoder_start_token = tokenizer.convert_ids_to_tokens(model.config.decoder_start_token_id)

        def set_decoder(self, spec: Any, decoder: Any) -> None:
            super().set_decoder(spec, decoder)
            spec.start_from_zero_embedding = False

        def _remove_pad_weights(self, spec: Any) -> None:
            pass

    transformers._MODEL_LOADERS["MarianConfig"] = Loader()
    TransformersConverter(str(work / "marian")).convert(str(work / "ctranslate2"), force=True)


def main(task: str, run: Path, source: Path, work: Path, sentences: int, threads: int) -> None:
    """Convert, or translate and print the speed and the translations."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    makers: dict[str, Callable[[], Translate]] = {
        "xformer": lambda: xformer(run, work, threads),
        "transformers": lambda: transformers(run, work, threads),
        "ctranslate2, threads on one batch": lambda: ctranslate2(run, work, threads, together=True),
        "ctranslate2, a batch a thread": lambda: ctranslate2(run, work, threads, together=False),
    }
    if task == "convert to marian":
        return to_marian(run, work)
    if task == "convert to ctranslate2":
        return to_ctranslate2(work)
    lines = source.read_text(encoding="utf-8").split("\n")[:sentences]
    translate = makers[task]()
    translate(lines[:WARM_UP])
    began, used = time.perf_counter(), time.process_time()
    found = translate(lines)
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"rate": len(lines) / seconds, "processor": processor, "lines": found}))


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:5]), int(sys.argv[5]), int(sys.argv[6]))
