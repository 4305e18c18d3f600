"""Whether the training forward is compiled, and what becomes of it where there is no compiler."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from torch import Tensor

from xformer.model.seq2seq import Seq2Seq

Forward = Callable[[Tensor, Tensor, Tensor], Tensor]
Setting = Literal["auto", "on", "off"]

_log = logging.getLogger(__name__)

# Compiling costs about a minute. On a GPU this many updates repay it; on a CPU eager layers with the
# chunked objective were no slower than compiled ones, so that nothing does.
_REPAID_AFTER = 2000


def training_forward(model: Seq2Seq, setting: Setting, device: torch.device, updates: int) -> Forward:
    """The model's forward pass, compiled or as it is.

    The compiled function stays outside of the module tree, so no name in a state dict changes (fault S24).
    """
    eager = cast(Forward, model.__call__)
    if not _wanted(setting, device, updates):
        return eager
    if (obstacle := _obstacle(device)) is not None:
        _log.info("training runs eager: torch.compile found no working compiler (%s)", obstacle)
        return eager
    return cast(Forward, torch.compile(model.forward, dynamic=True))


def _wanted(setting: Setting, device: torch.device, updates: int) -> bool:
    if setting == "auto":
        return device.type == "cuda" and updates >= _REPAID_AFTER
    return setting == "on"


def _obstacle(device: torch.device) -> str | None:
    """Why nothing can be compiled here, in one line, found out by compiling next to nothing."""
    try:
        torch.compile(_next_to_nothing)(torch.zeros(8, device=device))
    except Exception as error:  # every back end has exceptions of its own for a missing compiler
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return (str(cause).strip().splitlines() or [type(cause).__name__])[0]
    return None


def _next_to_nothing(x: Any) -> Any:
    return x * 2 + 1
