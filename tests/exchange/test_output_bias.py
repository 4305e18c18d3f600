"""A bias that is folded into the output projection is the bias."""

from __future__ import annotations

import pytest
import torch

from xformer.errors import UserError
from xformer.exchange.output_bias import fold


@pytest.mark.parametrize("shift", ["random", "zero", "against"])
def test_logits_are_those_with_the_bias(shift: str) -> None:
    torch.manual_seed(0)
    output, bias, gain = torch.randn(50, 16), 5 * torch.randn(50), torch.rand(16) + 0.2
    bias[7] = -1e4
    # Shifts whose product with 1 / gain is nothing leave no constant to hang the bias on.
    beta = {"random": torch.randn(16), "zero": torch.zeros(16)}.get(
        shift, torch.tensor([1.0, -1.0] * 8) * gain
    )
    n = torch.nn.functional.layer_norm(torch.randn(100, 16), (16,))
    expected = (gain * n + beta) @ output.T + bias
    folded, moved = fold(output, bias, gain, beta)
    found = (gain * n + moved) @ folded.T
    keep = torch.arange(50) != 7
    torch.testing.assert_close(found[:, keep], expected[:, keep], atol=2e-5, rtol=1e-5)
    assert (found[:, 7] < -9e3).all()


def test_a_gain_of_zero_is_refused() -> None:
    with pytest.raises(UserError, match="a gain of the decoder's last norm is 0"):
        fold(torch.ones(3, 2), torch.ones(3), torch.tensor([1.0, 0.0]), torch.ones(2))
