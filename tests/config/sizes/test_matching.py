"""A matched variant costs what the base costs at the same sizes, or is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.configs import BASE, GEGLU, NO_BIAS, PRE, RMSNORM, ROPE, SWIGLU, T5
from xformer.config.sizes.accounting import parameters
from xformer.config.sizes.flops import flops
from xformer.config.sizes.matching import counterpart, matched
from xformer.errors import UserError

VOCABULARY = 37_000
VARIANTS = {
    "swiglu": replace(BASE, feedforward=SWIGLU),
    "geglu_t5": replace(BASE, feedforward=GEGLU, position=T5),
    "multi_query": replace(BASE, key_value_heads=1),
    "decoder_only": replace(BASE, architecture="decoder_only"),
    "llama": replace(
        BASE,
        placement=PRE,
        position=ROPE,
        norm=RMSNORM,
        feedforward=replace(SWIGLU, bias=False),
        attention=NO_BIAS,
        key_value_heads=2,
    ),
}


def size(config) -> int:
    return sum(parameters(config, VOCABULARY).values())


def cost(config) -> int:
    each = flops(config, VOCABULARY)
    return each.source_token + each.target_token


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize(("policy", "measure"), [("params", size), ("flops", cost)])
def test_what_is_left_is_within_a_hundredth_of_a_percent_at_the_papers_size(name, policy, measure):
    solved = matched(replace(VARIANTS[name], match=policy), VOCABULARY)
    assert measure(solved) == pytest.approx(measure(BASE), rel=2e-4)
    assert replace(solved, d_ff=BASE.d_ff, match="none") == VARIANTS[name]


def test_gated_feedforwards_go_to_two_thirds_and_shared_keys_make_it_wider():
    gated = matched(replace(VARIANTS["swiglu"], match="params"), VOCABULARY)
    assert gated.d_ff == pytest.approx(2048 * 2 / 3, abs=1)
    assert matched(replace(VARIANTS["multi_query"], match="params"), VOCABULARY).d_ff > 2500


def test_nothing_is_solved_without_a_policy():
    assert matched(VARIANTS["multi_query"], VOCABULARY) is VARIANTS["multi_query"]


def test_the_counterpart_of_the_base_is_the_base():
    assert replace(counterpart(BASE), attention=BASE.attention) == BASE
    assert size(counterpart(VARIANTS["llama"])) == size(BASE)


def test_what_no_width_can_match_is_refused_with_the_nearest():
    # Widths of one head's size each: every step of d_ff is worth more than 1 % of so small a model.
    tiny = replace(BASE, layers=6, d_model=64, d_ff=4, heads=1, key_value_heads=1, d_k=2, d_v=2)
    with pytest.raises(UserError, match=r"model\.match: params cannot be met; the nearest model\.d_ff, \d+"):
        matched(replace(tiny, feedforward=SWIGLU, match="params"), 60)
