"""The position-wise feed-forward network (section 3.3), plain and gated.

B batch, T length, D d_model, F d_ff.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from xformer.config import schema
from xformer.model.dropout import Dropout
from xformer.model.projections import Projections

Activation = Callable[[Tensor], Tensor]


def squared_relu(x: Tensor) -> Tensor:
    """max(0, x)² (So et al. 2021)."""
    return nn.functional.relu(x).square()


PLAIN: dict[str, Activation] = {
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
    "silu": nn.functional.silu,
    "relu2": squared_relu,
}
GATES: dict[str, Activation] = {
    "glu": Tensor.sigmoid,
    "reglu": nn.functional.relu,
    "geglu": nn.functional.gelu,
    "swiglu": nn.functional.silu,
}


class FeedForward(nn.Module):
    """activation(x W1 + b1) W2 + b2, the paper's equation 2 with any activation."""

    def __init__(
        self, activation: Activation, d_model: int, d_ff: int, *, bias: bool, dropout: float
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


class GatedFeedForward(nn.Module):
    """(activation(x W1 + b1) * (x V + c)) W2 + b2 (Shazeer 2020, eq. 5 and 6)."""

    def __init__(
        self, activation: Activation, d_model: int, d_ff: int, *, bias: bool, dropout: float
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = Projections(d_model, {"gate": d_ff, "value": d_ff}, bias=bias)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        gate_BTF, value_BTF = self.inner(x_BTD)
        y_BTD: Tensor = self.output(self.dropout(self.activation(gate_BTF) * value_BTF))
        return y_BTD


def build_feedforward(config: schema.FeedForward, d_model: int, d_ff: int) -> FeedForward | GatedFeedForward:
    """Build one feed-forward sub-layer."""
    if config.kind in schema.GATED:
        return GatedFeedForward(GATES[config.kind], d_model, d_ff, bias=config.bias, dropout=config.dropout)
    return FeedForward(PLAIN[config.kind], d_model, d_ff, bias=config.bias, dropout=config.dropout)
