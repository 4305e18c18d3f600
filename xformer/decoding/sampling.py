"""Sampling: each token drawn from the model's own distribution, or from its likelier part.

Temperature τ divides the logits before the softmax; of that distribution the smallest set of tokens with
`top_p` of the probability is kept (nucleus sampling, Holtzman et al. 2020, section 3.1). What probability
is reported is the model's own all the same, so that it compares with that of a beam's hypotheses.

The draws of a sentence are a stream of its own, known by the seed, its source tokens and the number of the
sample. So a line is answered alike wherever it stands and whatever stands beside it; the same line twice is
answered the same twice, and several different samples of it come as its n best.

Shapes: B sentences, S source length, R rows (samples still growing), W vocabulary, L longest target.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xformer.data.vocabulary import PAD, UNK
from xformer.decoding.endings import Endings
from xformer.decoding.extensions import log_sum_exp
from xformer.decoding.length import check_alpha, check_lengths, length_limits, length_penalty
from xformer.decoding.protocol import Decodable, State
from xformer.decoding.strategy import Hypothesis
from xformer.errors import UserError

_COLDEST = 1e-6  # logits divided by less leave the range of single precision
_MOST = 10**6  # samples of a line, all of which lie in memory


@dataclass(frozen=True)
class Sampling:
    """Sampling as a `Strategy`; `alpha` is that of the scores by which `nbest` samples are put in order."""

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 1
    nbest: int = 1
    alpha: float = 0.6
    extra_length: int = 50
    min_length: int = 0
    max_length: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= _COLDEST):
            raise UserError(
                f"a temperature of {self.temperature} cannot be sampled at: give {_COLDEST} or more, or a "
                "beam of 1 for the most likely token each time"
            )
        if not 0 < self.top_p <= 1:
            raise UserError(f"a top-p of {self.top_p} is no share: give more than 0 and at most 1 (all)")
        if not 1 <= self.nbest <= _MOST:
            raise UserError(f"{self.nbest} samples of a line: give 1 to {_MOST}")
        if self.seed < 0:
            raise UserError(f"a seed of {self.seed} is none: give 0 or more")
        check_alpha(self.alpha)
        check_lengths(self.extra_length, self.min_length, self.max_length)

    @torch.no_grad()  # not inference_mode: tables that a model keeps from here must stay usable in training
    def hypotheses(
        self,
        model: Decodable[State],
        source_BS: Tensor,
        source_mask_BS: Tensor,
        /,
        *,
        bos: int,
        eos: int,
        forbidden: Sequence[int] = (PAD, UNK),
    ) -> list[list[Hypothesis]]:
        """`nbest` samples of every sentence, in the order of their scores.

        BOS and `forbidden` are never drawn. A sample from a model whose logits are not numbers is the empty
        hypothesis with the score NaN.
        """
        if len(source_BS) == 0:
            return []
        device, sentences = source_BS.device, len(source_BS)
        limit_B = length_limits(
            source_mask_BS, self.extra_length, model.max_target_length,
            min_length=self.min_length, max_length=self.max_length,
        )  # fmt: skip
        endings = Endings(eos, self.min_length, shortest=int(limit_B.min()))
        never = torch.tensor([bos, *forbidden], device=device)
        state = model.start(source_BS, source_mask_BS, int(limit_B.max()))
        if self.nbest > 1:
            state.select(torch.arange(sentences, device=device).repeat_interleave(self.nbest))
        uniform_RL = self._uniforms(source_BS, source_mask_BS, limit_B).to(device)
        limit_R = limit_B.repeat_interleave(self.nbest)
        growing = torch.arange(len(limit_R), device=device)  # row → sample
        token_RL = torch.full_like(uniform_RL, eos, dtype=torch.long)
        log_probability_R = torch.zeros(len(limit_R), device=device, dtype=torch.float64)
        last_R = torch.full_like(limit_R, bos)
        for length in range(1, token_RL.size(1) + 1):
            logits_RW = model.step(last_R, state).float()
            log_total_R = log_sum_exp(logits_RW)
            logits_RW.index_fill_(1, never, -torch.inf)
            endings.restrict(logits_RW, length, limit_R[growing])
            last_R = self._draw(logits_RW, uniform_RL[growing, length - 1])
            last_R = last_R.where(~log_total_R.isnan(), eos)
            log_p_R = logits_RW.gather(1, last_R.unsqueeze(1)).squeeze(1) - log_total_R
            log_probability_R[growing] += log_p_R
            token_RL[growing, length - 1] = last_R
            open_R = (last_R != eos).nonzero().squeeze(1)
            if len(open_R) == 0:
                break
            if len(open_R) < len(growing):
                growing, last_R = growing[open_R], last_R[open_R]
                state.select(open_R)
        return self._ranked(token_RL, log_probability_R, eos)

    def _draw(self, logits_RW: Tensor, uniform_R: Tensor) -> Tensor:
        """Where the distribution function, in the order of the ids, passes the uniform number.

        In that order and in double precision a rounding error of the logits moves each threshold by as
        little; among tokens sorted by probability it could make two change places.
        """
        p_RW = (logits_RW.double() / self.temperature).softmax(-1)
        if self.top_p < 1:
            p_RW = nucleus(p_RW, self.top_p)
        sum_RW = p_RW.cumsum(-1)
        threshold_R1 = (uniform_R * sum_RW[:, -1]).unsqueeze(1)
        token_R = torch.searchsorted(sum_RW, threshold_R1, right=True).squeeze(1)
        return token_R.clamp(max=p_RW.size(1) - 1)

    def _uniforms(self, source_BS: Tensor, source_mask_BS: Tensor, limit_B: Tensor) -> Tensor:
        """Numbers in [0, 1), one for each token of each sample, a sentence's samples side by side."""
        longest = int(limit_B.max())
        streams = [
            _stream(self.seed, [i for i, real in zip(ids, mask, strict=True) if real], sample, longest)
            for ids, mask in zip(source_BS.tolist(), source_mask_BS.tolist(), strict=True)
            for sample in range(self.nbest)
        ]
        return torch.from_numpy(np.stack(streams))

    def _ranked(self, token_RL: Tensor, log_probability_R: Tensor, eos: int) -> list[list[Hypothesis]]:
        samples = []
        for tokens, log_probability in zip(token_RL.tolist(), log_probability_R.tolist(), strict=True):
            ids = tokens[: tokens.index(eos)]
            score = log_probability / length_penalty(float(len(ids) + 1), self.alpha)
            samples.append(Hypothesis([] if math.isnan(score) else ids, log_probability, score))
        sentences = (samples[first : first + self.nbest] for first in range(0, len(samples), self.nbest))
        return [sorted(each, key=lambda sample: -sample.score) for each in sentences]


def nucleus(p_RW: Tensor, top_p: float) -> Tensor:
    """The probabilities with 0 in place of those outside the smallest set that holds `top_p` of them."""
    sorted_RW, order_RW = p_RW.sort(dim=-1, descending=True, stable=True)
    before_RW = sorted_RW.cumsum(-1) - sorted_RW  # the mass of all that are likelier
    outside_RW = torch.empty_like(order_RW, dtype=torch.bool).scatter_(-1, order_RW, before_RW >= top_p)
    return p_RW.masked_fill(outside_RW, 0.0)


def _stream(seed: int, source: Sequence[int], sample: int, count: int) -> np.ndarray:
    """The first `count` numbers of a sample's stream; Philox is the same on every machine."""
    name = hashlib.blake2b(repr((seed, sample, *source)).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(name))).random(count)
