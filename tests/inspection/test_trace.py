"""What happens in a model is seen, with its place, whatever the model."""

from __future__ import annotations

from tests.inspection.models import OneStack
from xformer.inspection.trace import Step, trace


def steps() -> list[Step]:
    return trace(OneStack(depth=2), [7, 5], [6, 4])


def places(operation: str) -> list[str]:
    return [step.module for step in steps() if step.operation == operation]


def test_the_sentences_come_first_and_the_logits_last() -> None:
    first, last = steps()[:3], steps()[-1]
    assert [(step.operation, step.shapes) for step in first] == [
        ("source ids", ((2, 7),)), ("source mask", ((2, 7),)), ("target ids", ((2, 6),))
    ]  # fmt: skip
    assert (last.operation, last.shapes) == ("matmul", ((2, 6, 30),))


def test_an_operation_is_placed_in_the_module_whose_method_runs() -> None:
    assert places("softmax") == ["cells.0", "cells.1"]
    assert places("cat") == [""]


def test_a_module_without_parts_is_named_by_its_class() -> None:
    assert places("Linear") == ["cells.0.up", "cells.0.down", "cells.1.up", "cells.1.down"]
    assert places("LayerNorm") == ["cells.0.level", "cells.1.level"]
    assert all(step.whole for step in steps() if step.operation == "Linear")


def test_dropout_is_off_and_no_gradient_is_kept() -> None:
    model = OneStack()
    trace(model, [3], [2])
    assert not model.training
    assert all(weight.grad is None for weight in model.parameters())


def test_two_runs_see_the_same() -> None:
    assert steps() == steps()
