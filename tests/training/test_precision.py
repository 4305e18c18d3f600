"""What is computed in which type."""

from __future__ import annotations

import pytest
import torch

from xformer.training.precision import Setting, computing, matmul_dtype, parameter_dtype

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("setting", "stored", "multiplied"),
    [
        ("fp32", torch.float32, torch.float32),
        ("bf16", torch.float32, torch.bfloat16),
        ("fp64", torch.float64, torch.float64),
    ],
)
def test_weights_and_products_have_the_types_of_the_setting(
    setting: Setting, stored: torch.dtype, multiplied: torch.dtype
) -> None:
    weight = torch.eye(3, dtype=parameter_dtype(setting))
    assert weight.dtype == stored
    with computing(setting, CPU):
        assert (weight @ weight).dtype == multiplied
        assert matmul_dtype(weight) == multiplied
