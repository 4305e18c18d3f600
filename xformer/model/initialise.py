"""Every initial weight, in one place.

The paper names no initialisation; this is the authors' code: Glorot uniform for every matrix,
N(0, 1/d_model) for embeddings, zero biases, unit gains.
"""

from __future__ import annotations

from torch import nn

from xformer.model.attention import Projections
from xformer.model.embedding import Embedding
from xformer.model.norms import RMSNorm
from xformer.model.positions import Learned


def initialise(model: nn.Module) -> None:
    """Set every parameter, from torch's global random stream.

    Projections that are packed into one matrix are drawn one after another, each with its own
    fan-in and fan-out, as if they were separate.
    """
    for module in model.modules():
        match module:
            case Projections():
                for _, matrix in module.matrices():
                    nn.init.xavier_uniform_(matrix)
                _zero(module.bias)
            case nn.Linear():
                nn.init.xavier_uniform_(module.weight)
                _zero(module.bias)
            case Embedding():
                for matrix in module.weight_WD.values():
                    nn.init.normal_(matrix, std=matrix.shape[1] ** -0.5)
            case Learned():
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case nn.LayerNorm():
                nn.init.ones_(module.weight)
                _zero(module.bias)
            case RMSNorm():
                nn.init.ones_(module.weight)


def _zero(bias: nn.Parameter | None) -> None:
    if bias is not None:
        nn.init.zeros_(bias)
