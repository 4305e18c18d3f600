"""What a model must offer to be decoded: start, step, and a state whose rows can be selected.

The search knows nothing else of a model, so anything that predicts the next token from a prefix can be
decoded, from a hand-written table of probabilities in a test to the Transformer with its cache.

Shapes: B sentences, S source length, R rows being decoded, Q rows selected, D features, W vocabulary.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from torch import Tensor


class DecoderState(Protocol):
    """What the model remembers of every row: the encoded source and the prefix so far."""

    def select(self, rows_Q: Tensor, /) -> None:
        """Make row q continue from what was row rows_Q[q]: drops, repeats and reorders, in place."""


State = TypeVar("State", bound=DecoderState)


class Decodable(Protocol[State]):
    """A model that predicts the target one position at a time."""

    @property
    def max_source_length(self) -> int | None:
        """Longest source it can read, EOS included; None: any."""

    @property
    def max_target_length(self) -> int | None:
        """Most positions it can predict; None: any."""

    def start(self, source_BS: Tensor, source_mask_BS: Tensor, max_length: int, /) -> State:
        """Read the sources (mask: True at real tokens) and make ready for max_length steps, one row each."""

    def step(self, token_R: Tensor, state: State, /) -> Tensor:
        """Logits of the next position, R × W, after token_R; the caller may overwrite them."""


@runtime_checkable
class InTwoParts(Decodable[State], Protocol[State]):
    """A model whose step can stop before the output projection, to have it done some rows at a time."""

    def advance(self, token_R: Tensor, state: State, /) -> Tensor:
        """Last states of the next position, R × D, after token_R."""

    def logits(self, hidden_RD: Tensor, /) -> Tensor:
        """What `step` would have given for these rows, R × W."""
