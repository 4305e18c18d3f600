"""What is written down of the paper fits the configuration that it speaks of."""

from __future__ import annotations

import re

from xformer.config.compose import compose
from xformer.config.differences import leaves
from xformer.config.validate import known_keys
from xformer.inspection.paper import Knowledge, Reason, knowledge


def test_every_key_and_group_that_is_spoken_of_exists() -> None:
    known, keys = knowledge(), set(known_keys())
    spoken_of = [*known.compared, *known.not_compared, *(each.key for each in known.reasons)]
    spoken_of += [each.key for each in known.open if each.key is not None]
    assert not set(spoken_of) - keys


def test_every_entry_names_a_section() -> None:
    known = knowledge()
    for each in (*known.reasons, *known.open, *known.always):
        assert re.fullmatch(r"[1-7](\.\d)*", each.section), each


def test_no_reason_is_hidden_behind_an_earlier_one() -> None:
    known = knowledge()
    for number, each in enumerate(known.reasons):
        earlier = Knowledge(known.compared, (), known.reasons[:number], (), ())
        assert earlier.reason(each.key, each.value) is None, each


def test_every_key_of_the_model_the_optimizer_and_the_decoding_is_compared() -> None:
    known = knowledge()
    for key, _ in leaves(compose([])):
        if key.split(".")[0] in ("model", "optim", "decode", "tokenizer"):
            assert known.compares(key) or key in known.not_compared, key


def test_every_key_that_is_compared_has_a_reason() -> None:
    known, keys = knowledge(), set(known_keys())
    groups = {key.rpartition(".")[0] for key in keys}
    for key in keys - groups - {"data", "tracking"}:
        assert not known.compares(key) or known.reason(key, None), key


def test_the_first_reason_that_fits_key_and_value_is_taken() -> None:
    reasons = (
        Reason("model.position.layout", "3.5", "of this value", value="halves"),
        Reason("model.position", "3.5", "of the group"),
    )
    known = Knowledge(("model",), (), reasons, (), ())
    assert [known.reason("model.position.layout", value) for value in ("halves", "interleaved")] == [*reasons]
    assert known.reason("model.heads", 4) is None
