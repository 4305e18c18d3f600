"""Every initial weight, in one place.

The paper names no initialisation; this is the authors' code: Glorot uniform for every matrix,
N(0, 1/d_model) for embeddings, zero biases, unit gains.
"""

from __future__ import annotations

import torch
from torch import nn

from xformer.model.attention import Attention
from xformer.model.deepnorm import constants
from xformer.model.embedding import Embedding
from xformer.model.feedforward import FeedForward, GatedFeedForward
from xformer.model.norms import RMSNorm
from xformer.model.placement import DeepNorm
from xformer.model.positions import Learned, Relative
from xformer.model.projections import Projections
from xformer.model.stacks import LayerStack


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
            case Learned():  # what Glorot comes to for the authors' 256 positions, within a tenth
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case Relative():  # as T5 begins
                nn.init.normal_(module.weight_NH, std=module.d_model**-0.5)
            case nn.LayerNorm():
                nn.init.ones_(module.weight)
                _zero(module.bias)
            case RMSNorm():
                nn.init.ones_(module.weight)
    for module in model.modules():
        if isinstance(module, LayerStack) and isinstance(module.layers[0].residual, DeepNorm):
            _shrink(module, constants(module.stack).beta)


def _shrink(stack: nn.Module, beta: float) -> None:
    """Give every matrix but those of queries and keys the gain that DeepNorm asks for (Wang et al. 2022)."""
    with torch.no_grad():
        for module in stack.modules():
            match module:
                case Attention():
                    module.output.weight *= beta
                case FeedForward() | GatedFeedForward():
                    module.inner.weight *= beta
                    module.output.weight *= beta
                case Projections():
                    for name, matrix in module.matrices():
                        if name == "value" and "key" in module.parts:
                            matrix *= beta


def _zero(bias: nn.Parameter | None) -> None:
    if bias is not None:
        nn.init.zeros_(bias)
