"""The position-wise feed-forward network (section 3.3).

B batch, T length, D d_model, F d_ff.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from xformer.config import schema
from xformer.model.dropout import Dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": nn.functional.relu, "gelu": nn.functional.gelu}


class FeedForward(nn.Module):
    """activation(x W1 + b1) W2 + b2, the paper's equation 2 with any activation."""

    def __init__(
        self, activation: Callable[[Tensor], Tensor], d_model: int, d_ff: int, *, bias: bool, dropout: float
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(d_model, d_ff, bias=bias)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        hidden_BTF = self.activation(self.inner(x_BTD))
        y_BTD: Tensor = self.output(self.dropout(hidden_BTF))
        return y_BTD


def build_feedforward(config: schema.FeedForward, d_model: int, d_ff: int) -> FeedForward:
    """Build one feed-forward sub-layer."""
    activation = ACTIVATIONS[config.kind]
    return FeedForward(activation, d_model, d_ff, bias=config.bias, dropout=config.dropout)
