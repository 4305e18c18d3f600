"""The real model, built in milliseconds: with every shape, and with whatever numbers lie in its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from xformer.config import schema
from xformer.errors import UserError
from xformer.model.architectures import skeleton
from xformer.model.seq2seq import Seq2Seq


class _PlainEmpty(TorchFunctionMode):
    """Gives a tensor without memory its memory by a plain call.

    Most operations on torch's meta device, `empty_like` among them, load a symbolic algebra, which takes
    over a second.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.empty_like:
            return torch.empty(args[0].shape, dtype=args[0].dtype, device="cpu")
        return func(*args, **(kwargs or {}))


def blank(config: schema.Model, vocabulary: int) -> Seq2Seq:
    """Build a model on the CPU less its initial weights: memory that is never written costs nothing.

    Raises UserError where the system does not grant even that.
    """
    empty = skeleton(config, vocabulary)
    try:
        with _PlainEmpty():
            return empty.to_empty(device="cpu")
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        parameters = sum(each.numel() for each in empty.parameters())
        raise UserError(
            f"model: its {parameters:,} parameters are more than this machine has memory for; "
            "make model.d_model, d_ff, layers or the vocabulary smaller"
        ) from None
