"""Equal layers are told once, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence

from tests.inspection.models import OneStack
from xformer.inspection.folding import Stretch, fold, tellings
from xformer.inspection.trace import Step, trace


def folded(*items: str) -> Sequence[Stretch]:
    """Items are `module:operation`."""
    return fold([item.split(":")[0] for item in items], [item.split(":")[1] for item in items])


def test_layers_that_differ_in_their_number_alone_are_one() -> None:
    items = [f"stack.{layer}.{part}" for layer in range(3) for part in ("a:x", "b.7:y")]
    assert folded("in:z", *items, "out:z") == [
        Stretch(0, 1, 1, ("in",)),
        Stretch(1, 2, 3, ("stack.*.a", "stack.*.b.7")),
        Stretch(7, 1, 1, ("out",)),
    ]


def test_the_longest_stretch_is_found_where_a_layer_repeats_within_itself() -> None:
    layer = ["stack.{}.part.0:x", "stack.{}.part.1:x", "stack.{}.end:y"]
    items = [item.format(number) for number in range(4) for item in layer]
    (stretch,) = folded(*items)
    assert (stretch.length, stretch.times) == (3, 4)
    assert stretch.modules == ("stack.*.part.0", "stack.*.part.1", "stack.*.end")


def test_the_same_operation_twice_in_one_module_stays_twice() -> None:
    (stretch,) = folded("a:x", "a:x")
    assert (stretch.length, stretch.times) == (2, 1)


def test_layers_with_different_shapes_are_not_one() -> None:
    assert [each.times for each in folded("s.0:x", "s.1:x", "s.2:y", "s.3:y")] == [2, 2]


def test_every_item_is_in_exactly_one_stretch() -> None:
    items = ["a:x", "s.0:x", "s.1:x", "b:x", "t.0.u:x", "t.0.v:y", "t.1.u:x", "t.1.v:y", "t.2.u:x", "c:x"]
    positions = [
        stretch.start + number
        for stretch in folded(*items)
        for number in range(stretch.length * stretch.times)
    ]
    assert positions == list(range(len(items)))


def test_a_single_stack_of_unknown_names_is_folded_to_one_layer() -> None:
    steps = trace(OneStack(depth=4), [7, 5], [6, 4])
    told = tellings(steps)
    stretches = fold([steps[n].module for n, _ in told], [(name, steps[n].shapes) for n, name in told])
    (layers,) = (each for each in stretches if each.times > 1)
    assert layers.times == 4
    assert [name for _, name in told[layers.start : layers.start + layers.length]] == [
        "transpose", "matmul", "softmax", "matmul", "Linear", "Linear", "LayerNorm"
    ]  # fmt: skip
    assert layers.modules[-1] == "cells.*.level"


def test_views_in_a_row_are_one_and_arithmetic_that_keeps_the_shape_is_none() -> None:
    def step(operation: str, *, keeps: bool = False, continues: bool = True, whole: bool = False) -> Step:
        return Step("m", operation, ((1,),), whole, keeps, continues)

    steps = [step("view"), step("transpose"), step("add", keeps=True), step("softmax", keeps=True),
             step("view"), step("view", continues=False)]  # fmt: skip
    assert tellings(steps) == [(1, "view, transpose"), (3, "softmax"), (4, "view"), (5, "view")]


def test_a_module_without_parts_is_told_by_what_it_returns() -> None:
    steps = [Step("n", "Norm", ((2, 1),), whole=True), Step("n", "Norm", ((2, 3),), whole=True)]
    assert tellings(steps) == [(1, "Norm")]
