"""The hypotheses of a search: those still growing, and the best that have ended.

Shapes: A sentences still searched, K growing hypotheses a sentence, T tokens so far, N ended hypotheses
kept a sentence, L longest target.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xformer.decoding.extensions import Extensions
from xformer.decoding.length import length_penalty
from xformer.decoding.strategy import Hypothesis


@dataclass(frozen=True)
class Growing:
    """The K best unfinished hypotheses of each sentence, all of T tokens."""

    log_probability_AK: Tensor  # -inf: an empty place
    token_AKT: Tensor

    @staticmethod
    def start(sentences: int, device: torch.device) -> Growing:
        """The empty hypothesis alone."""
        return Growing(
            torch.zeros(sentences, 1, device=device),
            torch.zeros(sentences, 1, 0, dtype=torch.long, device=device),
        )

    @property
    def width(self) -> int:
        """K, places a sentence."""
        return self.log_probability_AK.size(1)

    def last_token_R(self, bos: int) -> Tensor:
        """What the model reads next, R = A·K rows."""
        if self.token_AKT.size(2) == 0:
            return torch.full_like(self.token_AKT.sum(2), bos).flatten()
        return self.token_AKT[:, :, -1].flatten()

    def extend(self, extensions: Extensions, empty_AK: Tensor) -> Growing:
        """Every extension as a hypothesis of T + 1 tokens, save where `empty_AK`."""
        origin_AKT = extensions.origin_AN.unsqueeze(-1).expand(-1, -1, self.token_AKT.size(2))
        prefix_AKT = self.token_AKT.gather(1, origin_AKT)
        return Growing(
            extensions.log_probability_AN.masked_fill(empty_AK, -torch.inf),
            torch.cat((prefix_AKT, extensions.token_AN.unsqueeze(-1)), dim=2),
        )

    def best_possible_A(self, limit_A: Tensor, alpha: float) -> Tensor:
        """A score that no continuation can exceed; -inf where nothing grows.

        Tokens still to come can only lower a log-probability, which is negative, and the penalty that it is
        divided by is greatest at the limit.
        """
        return self.log_probability_AK.amax(dim=1) / length_penalty(limit_A, alpha)

    def of(self, sentences: Tensor) -> Growing:
        """Some of the sentences."""
        return Growing(self.log_probability_AK[sentences], self.token_AKT[sentences])


@dataclass(frozen=True)
class Ended:
    """The N best hypotheses of each sentence that have ended, best first."""

    score_AN: Tensor  # -inf: an empty place
    log_probability_AN: Tensor
    length_AN: Tensor  # EOS included
    token_ANL: Tensor

    @staticmethod
    def start(sentences: int, kept: int, longest: int, device: torch.device) -> Ended:
        """None yet."""
        nothing_AN = torch.full((sentences, kept), -torch.inf, device=device)
        length_AN = torch.zeros(sentences, kept, dtype=torch.long, device=device)
        return Ended(nothing_AN, nothing_AN, length_AN, length_AN.unsqueeze(-1).repeat(1, 1, longest))

    @property
    def worst_A(self) -> Tensor:
        """The score to exceed; -inf while there is an empty place."""
        return self.score_AN[:, -1]

    def add(self, token_AKT: Tensor, log_probability_AK: Tensor, ended_AK: Tensor, alpha: float) -> Ended:
        """Hypotheses that end, EOS their last token, compete for the places by score."""
        length = token_AKT.size(2)
        kept, longest = self.token_ANL.shape[1:]
        score_AK = log_probability_AK / length_penalty(float(length), alpha)
        score_AM = torch.cat((self.score_AN, score_AK.masked_fill(~ended_AK, -torch.inf)), dim=1)
        # Stable, so that of two equal scores the hypothesis that ended first stays.
        score_AM, order_AM = score_AM.sort(dim=1, descending=True, stable=True)
        order_AN = order_AM[:, :kept]
        length_AK = torch.full_like(ended_AK, length, dtype=torch.long)
        token_AKL = torch.nn.functional.pad(token_AKT, (0, longest - length))
        order_ANL = order_AN.unsqueeze(-1).expand(-1, -1, longest)
        return Ended(
            score_AM[:, :kept],
            torch.cat((self.log_probability_AN, log_probability_AK), dim=1).gather(1, order_AN),
            torch.cat((self.length_AN, length_AK), dim=1).gather(1, order_AN),
            torch.cat((self.token_ANL, token_AKL), dim=1).gather(1, order_ANL),
        )

    def of(self, sentences: Tensor) -> Ended:
        """Some of the sentences."""
        return Ended(
            self.score_AN[sentences],
            self.log_probability_AN[sentences],
            self.length_AN[sentences],
            self.token_ANL[sentences],
        )

    def hypotheses(self) -> list[list[Hypothesis]]:
        """Read out, sentence by sentence, empty places left out."""
        places = zip(
            self.score_AN.tolist(),
            self.log_probability_AN.tolist(),
            self.length_AN.tolist(),
            self.token_ANL.tolist(),
            strict=True,
        )
        return [
            [
                Hypothesis(tokens[: length - 1], log_probability, score)
                for score, log_probability, length, tokens in zip(*sentence, strict=True)
                if score > -torch.inf
            ]
            for sentence in places
        ]
