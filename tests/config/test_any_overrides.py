"""Whatever stands on the command line or in a configuration: a valid configuration, or one plain refusal."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import example, given, settings, strategies as st

from tests.refusals import at_most_refused
from xformer.config.compose import compose, plan
from xformer.config.validate import dump, known_keys, validate

KEYS = sorted({*known_keys(), "hydra.mode", "hydra.sweeper.params", "hydra/launcher", "hydra.run.dir"})
GROUPS = ["model", "model/position", "scale", "data", "experiments", "sweeps", "tracking", "optim"]
WORDS = r"""
null none true nan -inf 0 -1 1e400 0x10 1_000 1/0 1/3 é base ../x table3/base learned grammar files / @ ~ $
1,2 range(1,3) range(1,3,0) range(3,1) choice(1,2) choice() glob(*) interval(0,1) shuffle(1,2) sort(2,1)
tag(a,1) int(x) str(1) cast() [1,2] [ {a:1} { ' "a a=b \ \' ??? ${seed} ${nothing} ${ ${model} ${model.d_k}
${width:1} ${width:a} ${width:} ${width:-8} ${depth:1e99} ${updates:[1]} ${oc.env:NONE} ${oc.decode:x}
"""
VALUES = [*WORDS.split(), "", " ", "a b", "9" * 400, "\x00", "\ud800"]

keys = st.sampled_from(KEYS) | st.sampled_from(GROUPS) | st.text("aA.@/:_", max_size=6)
written = st.sampled_from(VALUES) | st.integers().map(str) | st.floats().map(str) | st.text(max_size=8)
words = st.one_of(
    st.builds("{}{}={}".format, st.sampled_from(["", "", "", "+", "++", "~"]), keys, written),
    st.builds("~{}".format, keys),
    st.text(max_size=12),
)


@settings(deadline=None, max_examples=40)
@given(overrides=st.lists(words, min_size=1, max_size=3), multirun=st.booleans())
@example(overrides=["+="], multirun=False)
@example(overrides=["decode=[1,2]"], multirun=True)
@example(overrides=["runs_dir=a=b"], multirun=False)
def test_any_command_line_is_planned_or_refused(overrides: list[str], multirun: bool) -> None:
    with at_most_refused():
        for job in plan(overrides, multirun=multirun).jobs:
            assert validate(dump(job.config)) == job.config


PLAIN = dump(compose([]))
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, max_examples=200)
@given(key=st.sampled_from(list(known_keys())), value=anything, other=st.booleans())
def test_any_value_in_a_frozen_configuration_is_read_or_refused(key: str, value: Any, other: bool) -> None:
    values = copy.deepcopy(PLAIN)
    *sections, last = key.split(".")
    place = values
    for section in sections:
        place = place.get(section, {})
    place[f"{last}x" if other else last] = value
    with at_most_refused():
        config = validate(values)
        assert validate(dump(config)) == config
