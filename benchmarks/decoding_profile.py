"""Where decoding's time goes: `python -m benchmarks.decoding_profile RUN --input FILE`.

The sentences are translated on the CPU as `xformer translate` does, once to warm up and once with a clock
around each part. A part's time is its own, without that of the parts within it, so that the shares add up to
the whole; a clock costs about a microsecond a call. With one thread it is the processor's time that is
counted, which other programs on the machine cannot use up; with more, the time that passes.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

import xformer
from xformer.data.corpus import read_lines
from xformer.data.tokenizer import Tokenizer
from xformer.decoding import search
from xformer.decoding.search import SearchSettings
from xformer.model.attention import CrossAttention, SelfAttention
from xformer.model.cache import DecoderState, PrefixState
from xformer.model.embedding import Embedding
from xformer.model.encoder_decoder import EncoderDecoder
from xformer.model.feedforward import FeedForward, GatedFeedForward

REST = "the loop around them"
# In the order of the table: what it is called, and where it stands.
PARTS: list[tuple[str, list[tuple[Any, str]]]] = [
    ("tokenizer", [(Tokenizer, "encode"), (Tokenizer, "decode")]),
    ("encoder, and its keys and values for the decoder", [(EncoderDecoder, "start")]),
    ("decoder: attention to itself", [(SelfAttention, "forward")]),
    ("decoder: attention to the source", [(CrossAttention, "forward")]),
    ("decoder: feed-forward", [(FeedForward, "forward"), (GatedFeedForward, "forward")]),
    ("decoder: norms, additions, embeddings, positions", [(EncoderDecoder, "advance")]),
    ("logits", [(Embedding, "logits")]),
    ("log-softmax, best extensions", [(search._Ranking, "best")]),
    ("keeping hypotheses", [(search.Searched, "advance"), (search.Searched, "of")]),
    ("re-ordering caches", [(DecoderState, "select"), (PrefixState, "select")]),
]
ENCODER = PARTS[1][0]  # what runs within it belongs to it


class Clock:
    """Seconds and calls of each part, less those of the parts within it."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._open: list[str] = []
        self._since = 0.0

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what happens inside."""
        if self._open and self._open[-1] == ENCODER:
            yield
            return
        self._turn()
        self._open.append(name)
        self.calls[name] = self.calls.get(name, 0) + 1
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a clock around it."""

        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            with self.part(name):
                return function(*arguments, **named)

        return timed

    def _turn(self) -> None:
        """Give the time since the last turn to the innermost part."""
        now = self._now()
        if self._open:
            name = self._open[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now


def main() -> None:
    """Translate, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding_profile", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="one sentence a line")
    parser.add_argument("--beam", type=int, help="that of the run if left out")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    run = xformer.load(options.run, device="cpu")
    decode = run.trained.config.decode
    beam = options.beam or decode.beam
    how = SearchSettings(beam=beam, alpha=decode.alpha, extra_length=decode.extra_length)
    lines = read_lines(options.input)
    run.translate(lines[:100], how)
    clock = Clock(time.process_time if options.threads == 1 else time.perf_counter)
    with contextlib.ExitStack() as patched:
        for name, places in PARTS:
            for owner, attribute in places:
                timed = clock.around(name, getattr(owner, attribute))
                patched.enter_context(patch.object(owner, attribute, timed))
        with clock.part(REST):
            found = run.translations(lines, how)
    total = sum(clock.seconds.values())
    tokens = sum(len(each.candidates[0].ids) + 1 for each in found)
    print(
        f"{len(lines):,} sentences, beam {beam}, {options.threads} thread(s): {total:.2f} s, "
        f"{len(lines) / total:.0f} sentences/s, {tokens / total:,.0f} target tokens/s\n"
    )
    print("| part | share | seconds | calls |\n|---|---|---|---|")
    for name in [*(name for name, _ in PARTS), REST]:
        if name in clock.calls:
            seconds = clock.seconds[name]
            print(f"| {name} | {seconds / total:.0%} | {seconds:.2f} | {clock.calls[name]:,} |")


if __name__ == "__main__":
    main()
