"""What training needs of a device's memory: exact for the weights and what Adam keeps, else estimated.

The estimate is what autograd keeps for the backward pass of one micro-batch of
`batch.tokens_per_device` tokens a side, in sentences of 32 tokens. A small model of the same strategies
is run, and the shapes of what it keeps are read as letters and evaluated at the real sizes. Not in it:
temporary results, dropout on attention weights, buffers of several devices' exchange, the allocator's gaps,
and what a library sets aside for itself.

B batch, T target length, D d_model, N target positions, C rows of a chunk of logits, W vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from xformer.config import schema
from xformer.config.sizes.flops import SENTENCE
from xformer.inspection import notation
from xformer.inspection.blank import blank
from xformer.model.dropout import Dropout
from xformer.model.kernel_choice import choose
from xformer.model.kernels import explicit
from xformer.training import precision
from xformer.training.device import training_device
from xformer.training.objective import chunk_rows


@dataclass(frozen=True)
class TrainingMemory:
    """Bytes on one device. The first three are exact, the last two are estimates."""

    weights: int
    gradients: int
    adam_moments: int
    activations: int
    loss: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.adam_moments + self.activations + self.loss

    @property
    def checkpoint(self) -> int:
        """What a checkpoint holds, on disk: the weights and Adam's moments."""
        return self.weights + self.adam_moments


@dataclass(frozen=True)
class Kept:
    """A tensor that is kept for the backward pass: its size as letters, and the bytes of one number."""

    shape: tuple[notation.Expression, ...]
    itemsize: int

    def nbytes(self, sizes: Mapping[str, int]) -> int:
        numbers = 1
        for expression in self.shape:
            numbers *= notation.value(expression, sizes)
        return numbers * self.itemsize


def training_memory(config: schema.Config, parameters: int) -> TrainingMemory:
    """Estimate for a model with so many parameters, on the device that training would take."""
    dtype = precision.parameter_dtype(config.trainer.precision)
    weights = parameters * dtype.itemsize
    device = training_device(config.trainer)
    sizes = notation.sizes_of(config.model, config.tokenizer.vocabulary)
    sizes |= {
        "S": SENTENCE,
        "T": SENTENCE,
        "B": max(1, config.batch.tokens_per_device // SENTENCE),
    }
    return TrainingMemory(
        weights=weights,
        gradients=weights,
        adam_moments=2 * weights,
        activations=sum(each.nbytes(sizes) for each in kept_for_backward(config, device)),
        loss=_loss(config, sizes, device),
    )


def kept_for_backward(config: schema.Config, device: torch.device) -> list[Kept]:
    """What the forward pass up to the last states leaves behind, each tensor once, weights excepted."""
    setting = config.trainer.precision
    dtype = precision.parameter_dtype(setting)
    computed = torch.bfloat16 if setting == "bf16" else dtype
    kernel = choose(config.model.attention.kernel, device, computed, queries=SENTENCE, keys=SENTENCE)
    attention = replace(config.model.attention, kernel="explicit" if kernel is explicit else "fused")
    small, vocabulary = notation.distinct(replace(config.model, attention=attention))
    letters = {**notation.SIZES, **notation.sizes_of(small, vocabulary)}
    model = blank(small, vocabulary).to(dtype).eval()
    source_BS = torch.zeros(letters["B"], letters["S"], dtype=torch.long)
    target_BT = torch.zeros(letters["B"], letters["T"], dtype=torch.long)

    keeping = _Keeping(model)
    # Training on a GPU keeps one byte for each number that dropout has seen, on a CPU the factor itself.
    masks = _dropout_masks(model, None if device.type == "cpu" else 1)
    with (
        torch.autograd.graph.saved_tensors_hooks(keeping.keep, lambda kept: kept),
        keeping,
        precision.computing(setting, torch.device("cpu")),
    ):
        model(source_BS, torch.ones_like(source_BS, dtype=torch.bool), target_BT)
    return [
        Kept(tuple(notation.read(size, letters) for size in shape), itemsize)
        for shape, itemsize in [*keeping.kept.values(), *masks]
    ]


class _Keeping(TorchFunctionMode):
    """Collects what autograd keeps, by storage: shape and bytes of a number."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.kept: dict[int, tuple[tuple[int, ...], int]] = {}
        self._weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
        self._alive: list[Tensor] = []  # so that no storage is given out twice
        self._fused = False

    def keep(self, x: Tensor) -> Tensor:
        if not self._fused:
            self._add(x)
        return x

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is not nn.functional.scaled_dot_product_attention:
            return func(*args, **(kwargs or {}))
        self._fused = True
        result: Tensor = func(*args, **(kwargs or {}))
        self._fused = False
        return self._keep_fused(args, (kwargs or {}).get("attn_mask"), result)

    def _keep_fused(self, operands: Sequence[Tensor], mask: Tensor | None, result: Tensor) -> Tensor:
        """Add what a fused kernel keeps, whatever torch does on this CPU at the small sizes.

        Those are the operands and the mask as it computes with them, one number a query, and the result,
        whose heads and positions lie in memory as those of the queries do.
        """
        queries = operands[0]
        if queries.stride(1) < queries.stride(2):
            result = result.transpose(1, 2).contiguous().transpose(1, 2)
        dtype = precision.matmul_dtype(queries)
        operands = [*operands, *([] if mask is None else [mask])]
        per_query = result.new_empty(result.shape[:-1], dtype=torch.float32)
        for x in (*(operand.to(dtype) for operand in operands), result, per_query):
            self._add(x)
        return result

    def _add(self, x: Tensor) -> None:
        storage = x.untyped_storage().data_ptr()
        if storage not in self._weights and storage not in self.kept:
            base = x._base if x._base is not None else x  # keeping a view keeps the whole
            self.kept[storage] = (tuple(base.shape), x.element_size())
            self._alive.append(x)


def _dropout_masks(model: nn.Module, itemsize: int | None) -> list[tuple[tuple[int, ...], int]]:
    """A list that a forward pass will fill: the mask of each dropout, of so many bytes a number."""
    masks: list[tuple[tuple[int, ...], int]] = []

    def note(module: nn.Module, _: Any, result: Tensor) -> None:
        if isinstance(module, Dropout) and module.p > 0:
            masks.append((tuple(result.shape), itemsize or result.element_size()))

    for module in model.modules():
        module.register_forward_hook(note)
    return masks


def _loss(config: schema.Config, sizes: Mapping[str, int], device: torch.device) -> int:
    """Bytes of the objective: states and their gradient (N, D), that of the output matrix (W, D), and the
    logits of a chunk (C, W)."""
    setting = config.trainer.precision
    dtype = precision.parameter_dtype(setting)
    compute = torch.bfloat16 if setting == "bf16" else dtype
    positions, width, vocabulary = sizes["B"] * sizes["T"], sizes["D"], sizes["W"]
    logits = chunk_rows(positions, vocabulary, device, compute) * vocabulary * compute.itemsize
    return (2 * positions * width + vocabulary * width) * dtype.itemsize + logits
