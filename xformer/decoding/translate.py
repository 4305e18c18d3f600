"""Lines of text in, as many translations out, in the same order.

Lines are sorted by length and decoded in batches of similar ones, longest first, so that little is spent
on padding and a batch too big for the memory fails at once and not at the end. Neither the order nor the
company changes a translation. On a CPU the batches are shared out to PyTorch's threads. A blank line is
answered with a blank line, undecoded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from xformer.data.vocabulary import BOS, EOS, PAD
from xformer.decoding.protocol import Decodable, State
from xformer.decoding.side_by_side import each, side_by_side
from xformer.decoding.strategy import Hypothesis, Strategy

Progress = Callable[[int], object]
"""Told how many more lines are done."""


class Codec(Protocol):
    """What turns text into token ids and back (`xformer.data.tokenizer.Tokenizer`)."""

    def encode(self, lines: Sequence[str], /) -> Sequence[Sequence[int]]:
        """The ids of each line, without BOS and EOS."""

    def decode(self, sequences: Iterable[Iterable[int]], /) -> list[str]:
        """The text of each sequence of ids."""


@dataclass(frozen=True)
class Candidate:
    """One way to translate a line."""

    text: str  # one line, whatever the model wrote
    ids: tuple[int, ...]  # without BOS and EOS
    log_probability: float
    score: float


@dataclass(frozen=True)
class Translation:
    """A line's candidates, best first and never none, and whether the whole line was read."""

    candidates: tuple[Candidate, ...]
    source_cut: bool = False  # longer than the model has positions for

    @property
    def text(self) -> str:
        """The best candidate's."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """The best candidate's."""
        return self.candidates[0].score


BLANK = Translation((Candidate("", (), 0.0, 0.0),))

# Controls save TAB (CR, VT, FF, FS, GS, RS, NEL, NUL, ESC …); Unicode's line and paragraph separators.
_TO_SPACES = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029} - {ord("\t")}, " ")


def translate(
    model: Decodable[State],
    tokenizer: Codec,
    lines: Sequence[str],
    strategy: Strategy,
    tokens_per_batch: int,
    progress: Progress | None = None,
) -> list[Translation]:
    """Translate every line; n lines give n translations of one line each.

    `tokens_per_batch` bounds the source tokens decoded side by side, padding counted; a longer line goes
    alone; on a CPU as many such batches are decoded at a time as there are threads. Lines beyond the model's
    positions are cut, and say so in `source_cut`.
    """
    report = progress or (lambda _: None)
    translations = [BLANK] * len(lines)
    written = [index for index, line in enumerate(lines) if line.strip()]
    report(len(lines) - len(written))
    encoded = tokenizer.encode([lines[index] for index in written])
    sources = [cut(ids, model.max_source_length) for ids in encoded]
    with evaluating(model) as device:

        def decode(batch: list[int]) -> list[list[Hypothesis]]:
            source_BS, source_mask_BS = pad([sources[i] for i in batch], device)
            return strategy.hypotheses(model, source_BS, source_mask_BS, bos=BOS, eos=EOS)

        lengths = [len(source) for source in sources]
        cut_up = shared_out(lengths, tokens_per_batch, side_by_side(device))
        for batch, found in zip(cut_up, each(decode, cut_up, device), strict=True):
            texts = iter(tokenizer.decode([hypothesis.ids for best in found for hypothesis in best]))
            for i, best in zip(batch, found, strict=True):
                candidates = tuple(
                    Candidate(one_line(next(texts)), tuple(each.ids), each.log_probability, each.score)
                    for each in best
                )
                translations[written[i]] = Translation(candidates, len(sources[i]) <= len(encoded[i]))
            report(len(batch))
    return translations


def cut(ids: Sequence[int], longest: int | None) -> list[int]:
    """A source as the model reads it: ids and EOS, at most `longest` together."""
    return [*ids[: None if longest is None else longest - 1], EOS]


def batches(lengths: Sequence[int], tokens_per_batch: int) -> Iterator[list[int]]:
    """Indices in batches of at most `tokens_per_batch`, padding counted, longest first."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > tokens_per_batch:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def shared_out(lengths: Sequence[int], tokens_per_batch: int, workers: int) -> list[list[int]]:
    """`batches` as even as may be, equally many for each worker, so that none waits for another's last."""
    if not lengths:
        return []
    fewest = len(list(batches(lengths, tokens_per_batch)))
    wanted = -(-fewest // workers) * workers
    budgets = range(max(lengths), tokens_per_batch)
    lowest = bisect_left(budgets, True, key=lambda budget: len(list(batches(lengths, budget))) <= wanted)
    return list(batches(lengths, budgets[lowest] if lowest < len(budgets) else tokens_per_batch))


def pad(sources: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Sources side by side, and True where their real tokens are; both B × S."""
    length_B = torch.tensor([len(source) for source in sources])
    mask_BS = torch.arange(int(length_B.max())) < length_B.unsqueeze(1)
    source_BS = torch.full(mask_BS.shape, PAD)
    source_BS[mask_BS] = torch.tensor([token for source in sources for token in source])
    return source_BS.to(device), mask_BS.to(device)


def one_line(text: str) -> str:
    """The text with a space for every character that some reader takes for the end of a line or a command.

    A model can write any of them, and one line out must stay one line.
    """
    return text.translate(_TO_SPACES)


@contextmanager
def evaluating(model: object) -> Iterator[torch.device]:
    """The model without dropout, and the device it stands on."""
    if not isinstance(model, nn.Module):
        yield torch.device("cpu")
        return
    training = model.training
    model.eval()
    try:
        yield next(model.parameters()).device
    finally:
        model.train(training)
