"""Which tensors a model makes on the way from token ids to logits: seen while it runs, listed nowhere.

Every call of a torch function is watched, and the module is noted in whose code it happens. So a new
variant, or a whole new architecture, shows itself without a line here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Shape = tuple[int, ...]
Lengths = Sequence[int]


class Translator(Protocol):
    """What a trace needs of a model: the forward pass of training, and the logits of its states."""

    def __call__(self, source_BS: Tensor, source_mask_BS: Tensor, target_in_BT: Tensor, /) -> Tensor: ...

    def logits(self, hidden_BTD: Tensor, /) -> Tensor: ...

    def eval(self) -> Any: ...

    def named_modules(self) -> Iterable[tuple[str, nn.Module]]: ...


@dataclass(frozen=True)
class Step:
    """One operation: in which module's code, its name, and the shapes that come out.

    whole: it happens within a module that has no parts, so that only its result matters.
    keeps_shape: the result has the shape of the first operand.
    continues: the first operand is what the step before made.
    """

    module: str
    operation: str
    shapes: tuple[Shape, ...]
    whole: bool = False
    keeps_shape: bool = False
    continues: bool = False


def trace(model: Translator, source: Lengths, target: Lengths) -> list[Step]:
    """Run a model once on sentences of these lengths, in tokens, and return every operation in order."""
    source_BS, target_BT = _ids(source), _ids(target)
    mask_BS = torch.arange(max(source)) < torch.tensor(source)[:, None]
    model.eval()
    with torch.no_grad():
        model(source_BS, mask_BS, target_BT)  # tables of constants are made once and not in every pass
        watch = _Watch(model)
        with watch:
            model.logits(model(source_BS, mask_BS, target_BT))
    given = {"source ids": source_BS, "source mask": mask_BS, "target ids": target_BT}
    return [Step("", name, (tuple(x.shape),)) for name, x in given.items()] + watch.steps


class _Watch(TorchFunctionMode):
    """Notes every operation that makes a tensor."""

    def __init__(self, model: Translator) -> None:
        super().__init__()
        self.steps: list[Step] = []
        modules = list(model.named_modules())
        self._names = {id(module): name for name, module in modules}
        self._without_parts = {id(module) for _, module in modules if not list(module.children())}
        self._last: Tensor | None = None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        made = [x for x in (result if isinstance(result, (tuple, list)) else [result]) if _is_state(x)]
        if made:
            self._note(func, made, next((x for x in args if _is_state(x)), None))
        return result

    def _note(self, func: Callable[..., Any], made: list[Tensor], operand: Tensor | None) -> None:
        module, whole = self._place(sys._getframe(2))
        step = Step(
            module=self._names.get(id(module), ""),
            operation=type(module).__name__ if whole else _name(func),
            shapes=tuple(tuple(x.shape) for x in made),
            whole=whole,
            keeps_shape=operand is not None and made[-1].shape == operand.shape,
            continues=operand is not None and operand is self._last,
        )
        self._last = made[-1]
        self.steps.append(step)

    def _place(self, frame: FrameType | None) -> tuple[nn.Module | None, bool]:
        """The innermost module one of whose methods is running, and whether that is `forward` of one
        without parts."""
        while frame is not None:
            owner = frame.f_locals.get("self")
            if isinstance(owner, nn.Module) and id(owner) in self._names:
                return owner, id(owner) in self._without_parts and frame.f_code.co_name == "forward"
            frame = frame.f_back
        return None, False


def _ids(lengths: Lengths) -> Tensor:
    return torch.zeros(len(lengths), max(lengths), dtype=torch.long)


def _is_state(x: Any) -> bool:
    """A tensor that depends on the sentences' number or lengths, in contrast to weights and single values."""
    return isinstance(x, Tensor) and not isinstance(x, nn.Parameter) and x.ndim > 0 and x.numel() > 0


def _name(func: Callable[..., Any]) -> str:
    name = getattr(func, "__name__", str(func))
    return {"__getitem__": "index", "__get__": "T"}.get(name, name.strip("_"))
