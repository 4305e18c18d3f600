"""Whatever bytes a checkpoint holds: its content or one plain refusal."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies as st

from tests.refusals import at_most_refused
from xformer.training import checkpoints
from xformer.training.checkpoints import load_weights, newest_loadable, path_of, read_checkpoint

GOOD: dict[str, Any] = {
    "xformer": checkpoints.header(10, "abc"),
    "state_dict": {"model.weight": torch.ones(2, 3), "model.bias": torch.zeros(2)},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a checkpoint that each example writes anew."""
    return path_of(tmp_path_factory.mktemp("any"), 10)


@pytest.fixture(scope="module")
def whole(place: Path) -> bytes:
    """The bytes of a good checkpoint."""
    torch.save(GOOD, place)
    return place.read_bytes()


def read(path: Path) -> None:
    """Read it in every way there is."""
    for attempt in (read_checkpoint, lambda path: read_checkpoint(path, mapped=False), load_weights):
        with at_most_refused(naming=path.name):
            attempt(path)
    with at_most_refused(naming=path.name):
        newest_loadable(path.parent)


@settings(deadline=None, max_examples=150)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused(place: Path, content: bytes) -> None:
    place.write_bytes(content)
    read(place)
    assert newest_loadable(place.parent) is None


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_a_damaged_checkpoint_is_read_or_refused(place: Path, whole: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 40))
    place.write_bytes(whole[:start] + data.draw(st.binary(max_size=40)) + whole[start + length :])
    read(place)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.just(torch.ones(1)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
PLACES = ["xformer", "state_dict", "xformer/format", "xformer/update", "state_dict/model.bias"]


@settings(deadline=None, max_examples=150)
@given(inside=st.sampled_from(PLACES), value=plain, drop=st.booleans())
def test_any_content_is_read_or_refused(place: Path, inside: str, value: Any, drop: bool) -> None:
    content = copy.deepcopy(GOOD)
    *sections, last = inside.split("/")
    part = content
    for section in sections:
        part = part[section]
    part[last] = value
    if drop:
        del part[last]
    torch.save(content, place)
    read(place)
