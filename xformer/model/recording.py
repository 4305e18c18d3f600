"""The attention weights of a forward pass, caught at the one place through which all attention goes.

Fused kernels never form the weights, so they are computed once more, explicitly, from the very queries,
keys and mask that the kernel is given: rotations, norms of queries and keys, and biases are in them. The
model has no switch for this and goes on as if nobody watched.

B batch, T queries, S keys, H heads, G key_value_heads, K d_k, V d_v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xformer.model.attention import Attention
from xformer.model.kernels import attention_weights
from xformer.model.masks import Mask


@dataclass(frozen=True)
class Recorded:
    """One call of one attention.

    weights_BHTS are on the CPU, in float32 at least, before dropout: each row sums to 1, or is 0 throughout
    where the query had nothing to attend to.
    """

    name: str  # the module's path in the model, such as encoder.layers.0.attention
    attention: Attention
    weights_BHTS: Tensor


@contextmanager
def record_attention(model: nn.Module) -> Iterator[list[Recorded]]:
    """Record every attention of `model` within the block, in the order in which they are called.

    What the model computes, its gradients and the random numbers it draws stay the same to the bit. However
    the block ends, the model is as it was before. Not for compiled models, in which no method is called.
    """
    calls: list[Recorded] = []
    with ExitStack() as restored_after:
        for name, module in model.named_modules():
            if isinstance(module, Attention):
                restored_after.enter_context(_watched(name, module, calls.append))
        yield calls


@contextmanager
def _watched(name: str, attention: Attention, tell: Callable[[Recorded], None]) -> Iterator[None]:
    unwatched = attention.attend

    def attend(q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask) -> Tensor:
        tell(Recorded(name, attention, _weights(q_BHTK, k_BGSK, mask, attention.scale)))
        return unwatched(q_BHTK, k_BGSK, v_BGSV, mask)

    # In the instance's own dictionary it comes before the class's method, and leaves no trace when removed.
    own = attention.__dict__
    before = own.get("attend")
    own["attend"] = attend
    try:
        yield
    finally:
        if before is None:
            del own["attend"]
        else:
            own["attend"] = before


@torch.no_grad()
def _weights(q_BHTK: Tensor, k_BGSK: Tensor, mask: Mask, scale: float) -> Tensor:
    exact = torch.promote_types(q_BHTK.dtype, torch.float32)
    weights_BHTS = attention_weights(q_BHTK.to(exact), k_BGSK.to(exact), mask, scale)
    if mask.empty is not None:
        weights_BHTS = weights_BHTS.masked_fill(mask.empty, 0.0)
    return weights_BHTS.cpu()
