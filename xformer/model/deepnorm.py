"""DeepNorm's constants: how much each stack's residual is enlarged and its first weights are shrunk.

Wang et al. 2022 ("DeepNet", table 1), who choose them so that an update changes the output of the
whole model by as much as that of a shallow one, whatever the depth.
"""

from __future__ import annotations

from dataclasses import dataclass

from xformer.config.sizes.layout import Stack


@dataclass(frozen=True)
class Constants:
    """alpha: factor of the residual stream. beta: gain of the initial weights, queries and keys excepted."""

    alpha: float
    beta: float


def constants(stack: Stack) -> Constants:
    """Return the constants of a stack; encoder and decoder are equally deep."""
    N = M = stack.layers
    match stack.kind:
        case "encoder":
            return Constants(alpha=0.81 * (N**4 * M) ** (1 / 16), beta=0.87 * (N**4 * M) ** (-1 / 16))
        case "decoder":
            return Constants(alpha=(3 * M) ** (1 / 4), beta=(12 * M) ** (-1 / 4))
        case "decoder_only":
            return Constants(alpha=(2 * M) ** (1 / 4), beta=(8 * M) ** (-1 / 4))
