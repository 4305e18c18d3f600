"""A bias of the logits without a place for one: what Marian models have and ours have not.

The last norm of the decoder gives h = γ n + β, and the features of n always sum to zero. So a matrix may be
given any multiple of r = 1/γ in each row without a change to what it makes of γ n, and with r · β ≠ 0 those
multiples are a bias:

    E' = E + b̃ rᵀ,  β' = β + δ   ⟹   E' (γ n + β') = E h + E δ + b̃ (r · β')

which is E h + b for b̃ = (b - E δ) / (r · β'). δ is chosen such that r · β' is √D, and nothing small is
divided by.

D d_model, W vocabulary.
"""

from __future__ import annotations

import math

from torch import Tensor

from xformer.errors import UserError


def fold(output_WD: Tensor, bias_W: Tensor, gain_D: Tensor, shift_D: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output projection (W, D) and the shift of the norm before it (D) that have the bias in them.

    The projection must not be tied to an embedding. Raises UserError where a gain is zero.
    """
    output_WD, bias_W, gain_D, shift_D = (each.double() for each in (output_WD, bias_W, gain_D, shift_D))
    if (gain_D == 0).any():
        raise UserError(
            "a gain of the decoder's last norm is 0, and the logits have a bias: not both can be imported"
        )
    r_D, size = 1 / gain_D, math.sqrt(len(gain_D))
    delta_D = (size - r_D @ shift_D) / (r_D @ r_D) * r_D
    multiple_W = (bias_W - output_WD @ delta_D) / size
    return (output_WD + multiple_W[:, None] * r_D).float(), (shift_D + delta_D).float()
