"""Beam search with the length penalty of Wu et al. 2016, as the paper decodes (section 6.1).

At every position the `beam` best extensions of a sentence's hypotheses are kept. Those that end with EOS
leave the beam and compete for the `nbest` places by score; the others grow. A sentence is settled when
nothing that still grows can reach one of its places, whatever follows: then the search would find nothing
better if it ran to the limit. Settled sentences leave the batch, so none waits for, or depends on, another.
With `beam=1` this is greedy search: the one extension either ends the hypothesis or is the hypothesis.

At its limit a sentence's hypotheses can only end: EOS is the one extension there, at the probability that
the model gives it; below a least length they cannot. So every hypothesis ends, and its score is the model's
own for that whole sequence.

Shapes: B sentences, S source length, A sentences still searched, K hypotheses a sentence, R = A·K rows,
W vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from xformer.config import schema
from xformer.data.vocabulary import PAD, UNK
from xformer.decoding.beams import Ended, Growing
from xformer.decoding.endings import Endings
from xformer.decoding.extensions import Extensions, best_extensions
from xformer.decoding.length import check_alpha, check_lengths, length_limits
from xformer.decoding.outputs import Outputs
from xformer.decoding.protocol import Decodable, DecoderState, State
from xformer.decoding.strategy import Hypothesis
from xformer.errors import UserError


@dataclass(frozen=True)
class SearchSettings:
    """Beam search as a `Strategy`: width, exponent of the length penalty, lengths, how many to return.

    A target holds `min_length` to `max_length` tokens (0: any number), its EOS not counted, and is at
    most `extra_length` tokens longer than its source.
    """

    beam: int
    alpha: float
    extra_length: int
    nbest: int = 1
    min_length: int = 0
    max_length: int = 0

    @staticmethod
    def of(decode: schema.Decode, nbest: int = 1) -> SearchSettings:
        """The search that a configuration asks for."""
        return SearchSettings(
            beam=decode.beam,
            alpha=decode.alpha,
            extra_length=decode.extra_length,
            nbest=nbest,
            min_length=decode.min_length,
            max_length=decode.max_length,
        )

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise UserError(f"a beam of {self.beam} holds no hypothesis: give 1 (greedy) or more")
        if not 1 <= self.nbest <= self.beam:
            raise UserError(f"{self.nbest} best hypotheses from a beam of {self.beam}: give 1 to {self.beam}")
        check_alpha(self.alpha)
        check_lengths(self.extra_length, self.min_length, self.max_length)

    def hypotheses(
        self, model: Decodable[State], source_BS: Tensor, source_mask_BS: Tensor, /, *, bos: int, eos: int
    ) -> list[list[Hypothesis]]:
        """Up to `nbest` hypotheses of every sentence; see `beam_search`."""
        return beam_search(model, source_BS, source_mask_BS, self, bos=bos, eos=eos)


@dataclass(frozen=True)
class Searched:
    """Where the search of A sentences stands."""

    sentence_A: Tensor  # which of the batch
    limit_A: Tensor  # longest hypothesis, EOS included
    growing: Growing
    ended: Ended

    @staticmethod
    def start(limit_B: Tensor, nbest: int) -> Searched:
        """Every sentence with the empty hypothesis."""
        sentences, device = len(limit_B), limit_B.device
        return Searched(
            torch.arange(sentences, device=device),
            limit_B,
            Growing.start(sentences, device),
            Ended.start(sentences, nbest, int(limit_B.max()), device),
        )

    def advance(self, extensions: Extensions, eos: int, alpha: float) -> Searched:
        """One token later: the extensions end or grow."""
        ends_AK = extensions.token_AN == eos
        growing, ended = self.growing.extend(extensions, empty_AK=ends_AK), self.ended
        if ends_AK.any():
            ended = ended.add(growing.token_AKT, extensions.log_probability_AN, ends_AK, alpha)
        return replace(self, growing=growing, ended=ended)

    def open_A(self, alpha: float) -> Tensor:
        """True where something that grows may still reach a place; never where scores are not numbers."""
        return self.ended.worst_A < self.growing.best_possible_A(self.limit_A, alpha)

    def of(self, sentences: Tensor) -> Searched:
        """Some of the sentences, by index or mask."""
        return Searched(
            self.sentence_A[sentences],
            self.limit_A[sentences],
            self.growing.of(sentences),
            self.ended.of(sentences),
        )


@torch.no_grad()  # not inference_mode: tables that a model keeps from here must stay usable in training
def beam_search(
    model: Decodable[State],
    source_BS: Tensor,
    source_mask_BS: Tensor,
    settings: SearchSettings,
    *,
    bos: int,
    eos: int,
    forbidden: Sequence[int] = (PAD, UNK),
) -> list[list[Hypothesis]]:
    """Up to `nbest` hypotheses of every sentence, best first, never fewer than one.

    `source_mask_BS` is True at real tokens. BOS and `forbidden` are never generated; what probability the
    model gives them is lost, so scores are the model's own. A model whose logits are not numbers gets the
    empty hypothesis with the score NaN. The model should be in evaluation mode.
    """
    if len(source_BS) == 0:
        return []
    found: list[list[Hypothesis]] = [[] for _ in range(len(source_BS))]
    limit_B = length_limits(
        source_mask_BS, settings.extra_length, model.max_target_length,
        min_length=settings.min_length, max_length=settings.max_length,
    )  # fmt: skip
    ranking = _Ranking(
        settings.beam,
        torch.tensor([bos, *forbidden], device=source_BS.device),
        Endings(eos, settings.min_length, shortest=int(limit_B.min())),
    )
    longest = int(limit_B.max())
    outputs = Outputs(model)
    searched = Searched.start(limit_B, settings.nbest)
    state = model.start(source_BS, source_mask_BS, longest)
    for length in range(1, longest + 1):
        token_R, hypotheses = searched.growing.last_token_R(bos), searched.growing.width
        extensions = ranking.best(outputs.blocks(token_R, state, hypotheses), searched, length)
        searched = searched.advance(extensions, eos, settings.alpha)

        rows_AK = extensions.origin_row_AN(hypotheses)
        open_A = searched.open_A(settings.alpha)
        if not open_A.all():
            settled = searched.of(~open_A)
            for sentence, best in zip(settled.sentence_A.tolist(), settled.ended.hypotheses(), strict=True):
                found[sentence] = best
            searched, rows_AK = searched.of(open_A), rows_AK[open_A]
        if len(rows_AK) == 0:
            break
        _select(state, rows_AK.flatten(), before=len(token_R))
    return [best or [Hypothesis([], math.nan, math.nan)] for best in found]


@dataclass(frozen=True)
class _Ranking:
    """Which extensions are allowed, and the best of those by log-probability of the whole."""

    beam: int
    never: Tensor  # tokens that are not generated
    endings: Endings

    def best(self, blocks: Iterator[Tensor], searched: Searched, length: int) -> Extensions:
        """The `beam` best of each sentence; the blocks (N × W) follow one another through the rows."""
        found, first = [], 0
        for log_p_NW in blocks:
            some = slice(first, first + len(log_p_NW) // searched.growing.width)
            log_p_NW.index_fill_(1, self.never, -torch.inf)
            self.endings.restrict(log_p_NW, length, searched.limit_A[some])
            prefix_AK = searched.growing.log_probability_AK[some]
            found.append(best_extensions(log_p_NW.view(*prefix_AK.shape, -1), prefix_AK, self.beam))
            first = some.stop
        return Extensions.joined(found)


def _select(state: DecoderState, rows_R: Tensor, before: int) -> None:
    """Select only where it changes something: it copies the whole cache."""
    if len(rows_R) != before or not torch.equal(rows_R, torch.arange(before, device=rows_R.device)):
        state.select(rows_R)
