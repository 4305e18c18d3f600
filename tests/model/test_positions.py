"""Position schemes agree with their formulas at every length, in every precision."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch

from tests.model.configs import ALIBI, HALVES, LEARNED, PARTIAL_ROPE, ROPE, SINUSOIDAL, SMALL, T5
from xformer.config.sizes.layout import decoder, stacks
from xformer.errors import UserError
from xformer.model import build
from xformer.model.positions import (
    Alibi,
    Learned,
    Position,
    Rotary,
    Sinusoidal,
    Span,
    alibi_slopes,
    build_position,
    relative_bucket,
    sinusoids,
)

CPU = torch.device("cpu")
LAYOUTS = ["interleaved", "halves"]


def test_sinusoids_agree_with_hand_worked_numbers():
    # d_model 4: dimensions 0 and 1 turn by pos, dimensions 2 and 3 by pos / 100.
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.841471, 0.540302, 0.010000, 0.999950],
        [0.909297, -0.416147, 0.019999, 0.999800],
    ]
    torch.testing.assert_close(
        sinusoids(3, 4, "interleaved").float(), torch.tensor(expected), atol=1e-6, rtol=0
    )


def test_halves_are_the_same_numbers_in_another_order():
    interleaved, halves = sinusoids(10, 6, "interleaved"), sinusoids(10, 6, "halves")
    assert torch.equal(halves, interleaved[:, [0, 2, 4, 1, 3, 5]])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_odd_width_has_one_sine_more_than_cosines(layout):
    table = sinusoids(5, 3, layout)
    assert table.shape == (5, 3)
    assert torch.equal(table[0].sort().values, torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64))


def test_a_shift_by_a_fixed_distance_is_a_rotation_wherever_it_starts():
    # Section 3.5: PE(pos + k) is a linear function of PE(pos).
    table = sinusoids(50, 8, "interleaved")
    for i in range(4):
        angle = 7 / 10000 ** (2 * i / 8)
        turn = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]], dtype=torch.float64
        )
        pair = table[:, 2 * i : 2 * i + 2]
        torch.testing.assert_close(pair[:-7] @ turn.T, pair[7:])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions_stay_true_and_distinct_in_bfloat16(layout):
    position = Sinusoidal(512, layout)
    exact = sinusoids(4096, 512, layout)

    def check(scheme: Position, length: int) -> None:
        span = Span.run(0, length, CPU)
        rows = scheme.add(torch.zeros(length, 512, dtype=torch.bfloat16), span)
        assert rows.dtype == torch.bfloat16
        assert (rows.double() - exact[:length]).abs().max() <= 0.005
        assert len(rows.float().unique(dim=0)) == length

    check(position, 100)
    check(position.to(torch.bfloat16), 600)  # grown past its first table
    check(copy.deepcopy(position), 4096)
    fresh = Sinusoidal(512, layout)
    fresh.load_state_dict(position.state_dict())
    check(fresh, 600)


def test_casting_the_model_leaves_the_tables_in_float32():
    position = Sinusoidal(64, "interleaved")
    position.add(torch.zeros(10, 64), Span.run(0, 10, CPU))
    position.to(torch.bfloat16)
    rows = position.add(torch.zeros(600, 64), Span.run(0, 600, CPU))
    torch.testing.assert_close(rows.double(), sinusoids(600, 64, "interleaved"), atol=1e-7, rtol=0)


def test_tables_are_no_part_of_the_state_dict():
    position = Sinusoidal(16, "interleaved")
    position.add(torch.zeros(4, 16), Span.run(0, 4, CPU))
    assert position.state_dict() == {}


def test_a_bfloat16_model_tells_all_positions_apart():
    model = build(replace(SMALL, d_model=64), vocabulary=40).to(torch.bfloat16)
    ids = torch.full((1, 600), 7)
    embedded = model.encoder.position.add(model.embedding.source(ids), Span.run(0, 600, CPU))
    assert len(embedded[0].float().unique(dim=0)) == 600


@pytest.mark.parametrize("config", [SINUSOIDAL, HALVES, LEARNED], ids=["sinusoidal", "halves", "learned"])
def test_one_position_at_a_time_equals_all_at_once(config):
    model = build(replace(SMALL, position=config), vocabulary=40)
    x = torch.randn(2, 5, 16)
    scheme = model.decoder.position
    at_once = scheme.add(x, Span.run(0, 5, CPU))
    singly = torch.cat([scheme.add(x[:, t : t + 1], Span.run(t, 1, CPU)) for t in range(5)], dim=1)
    assert torch.equal(at_once, singly)


def test_sentences_of_a_batch_may_stand_at_different_positions():
    scheme = Sinusoidal(16, "interleaved")
    x = torch.zeros(2, 2, 16)
    rows = scheme.add(x, Span(torch.tensor([[0, 1], [5, 6]]), end=7))
    assert torch.equal(rows[1], scheme.add(x, Span.run(5, 2, CPU))[1])


def test_learned_positions_are_trained_and_end_at_their_limit():
    scheme = build_position(replace(SMALL, position=LEARNED), decoder(SMALL))
    assert isinstance(scheme, Learned)
    torch.nn.init.normal_(scheme.weight)
    assert scheme.max_length == 64
    scheme.add(torch.zeros(1, 64, 16), Span.run(0, 64, CPU)).sum().backward()
    assert (scheme.weight.grad == 1).all()
    with pytest.raises(UserError, match=r"model\.position\.max_length=64.*65 tokens"):
        scheme.add(torch.zeros(1, 65, 16), Span.run(0, 65, CPU))


def test_a_scheme_that_overrides_nothing_changes_nothing():
    scheme, x, span = Position(), torch.randn(2, 3, 4), Span.run(0, 3, CPU)
    assert scheme.add(x, span) is x
    assert scheme.rotation(span)(x) is x
    assert scheme.bias(span, span) is None
    assert scheme.max_length is None


def span(*index: int) -> Span:
    return Span(torch.tensor(index), max(index) + 1)


def test_rotary_turns_pairs_by_hand_worked_angles():
    # d_k 4: features (0, 2) turn by pos, features (1, 3) by pos / 100.
    turned = Rotary(4, 10000.0, 1.0).rotation(span(3))(torch.tensor([1.0, 1.0, 0.0, 0.0]).view(1, 1, 1, 4))
    expected = [math.cos(3), math.cos(0.03), math.sin(3), math.sin(0.03)]
    torch.testing.assert_close(turned.flatten(), torch.tensor(expected))


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_rotary_scores_depend_on_the_distance_alone(fraction):
    scheme, q, k = Rotary(16, 10000.0, fraction), torch.randn(1, 1, 1, 16), torch.randn(1, 1, 1, 16)

    def score(query: int, key: int) -> float:
        return float((scheme.rotation(span(query))(q) * scheme.rotation(span(key))(k)).sum())

    for distance in (0, 1, 7, 100):
        scores = [score(start + distance, start) for start in (0, 1, 13, 500)]
        assert scores == pytest.approx([scores[0]] * 4, abs=1e-4)
    assert abs(score(5, 0) - score(0, 0)) > 1e-3
    assert abs(score(5, 0) - score(0, 5)) > 1e-3  # before is not after


def test_rotary_keeps_lengths_and_leaves_the_other_part_alone():
    x = torch.randn(2, 3, 9, 8)
    turned = Rotary(8, 500.0, 0.5).rotation(Span.run(5, 9, CPU))(x)
    assert torch.equal(turned[..., 4:], x[..., 4:])
    assert not torch.isclose(turned[..., :4], x[..., :4]).all(-1).any()
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))


def test_rotary_angles_stay_true_in_bfloat16():
    # Ones in the first half: each turned pair is (cos, sin) of the angle, whatever the precision of x.
    x = torch.zeros(1, 1, 4096, 64, dtype=torch.bfloat16)
    x[..., :32] = 1.0
    turned = Rotary(64, 10000.0, 1.0).rotation(Span.run(0, 4096, CPU))(x)
    assert turned.dtype == torch.bfloat16
    angle = torch.arange(4096, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, 64, 2).double() / 64)
    exact = torch.cat([angle.cos(), angle.sin()], dim=1)
    assert (turned[0, 0].double() - exact).abs().max() <= 0.005


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [  # as the authors publish them
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
        (8, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8]),
        (
            12,
            [2**-x for x in (1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5)],
        ),
    ],
)
def test_alibi_slopes_are_the_published_ones(heads, slopes):
    assert alibi_slopes(heads) == pytest.approx(slopes)


def test_alibi_lowers_scores_by_the_distance_alike_to_both_sides():
    bias = Alibi(2).bias(span(0, 1, 2), span(0, 1, 2))
    distance = torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    torch.testing.assert_close(bias, torch.stack([-distance / 16, -distance / 256]))


def test_relative_buckets_agree_with_hand_worked_numbers():
    offsets = torch.tensor([-200, -17, -16, -9, -8, -7, -1, 0, 1, 7, 8, 9, 16, 17, 200])
    # 32 buckets, distance 128, both directions: 8 exact and 8 logarithmic ones a side.
    both = relative_bucket(offsets, 32, 128, bidirectional=True)
    assert both.tolist() == [15, 10, 10, 8, 8, 7, 1, 0, 17, 23, 24, 24, 26, 26, 31]
    # The past alone: 16 exact and 16 logarithmic ones.
    past = relative_bucket(offsets, 32, 128, bidirectional=False)
    assert past.tolist() == [31, 16, 16, 9, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_relative_bias_is_looked_up_per_head_and_stack():
    encoder, decoder = (build_position(replace(SMALL, position=T5), stack) for stack in stacks(SMALL))
    for scheme in (encoder, decoder):
        scheme.weight_NH.data = torch.arange(16.0).view(8, 2)
    ours = encoder.bias(span(2), span(0, 1, 2, 3, 4))
    assert ours.shape == (2, 1, 5)
    assert ours[0, 0].tolist() == [4, 2, 0, 10, 12]  # buckets 2, 1, 0, 5, 6 of head 0
    assert ours[1, 0].tolist() == [5, 3, 1, 11, 13]
    assert decoder.bias(span(2), span(0, 1, 2, 3, 4))[0, 0].tolist() == [4, 2, 0, 0, 0]


@pytest.mark.parametrize("config", [ALIBI, T5], ids=["alibi", "t5"])
def test_a_bias_for_one_query_is_a_row_of_the_bias_for_all(config):
    scheme = build_position(replace(SMALL, position=config), decoder(SMALL))
    if config is T5:
        torch.nn.init.normal_(scheme.weight_NH)
    everything = scheme.bias(Span.run(0, 40, CPU), Span.run(0, 40, CPU))
    assert torch.equal(scheme.bias(Span.run(39, 1, CPU), Span.run(0, 40, CPU)), everything[:, 39:])
    batched = scheme.bias(Span(torch.tensor([[3], [39]]), 40), Span(torch.arange(40).expand(2, -1), 40))
    assert batched.shape == (2, 2, 1, 40)
    assert torch.equal(batched[1], everything[:, 39:])


@pytest.mark.parametrize("config", [ROPE, PARTIAL_ROPE], ids=["rope", "partial"])
def test_sentences_of_a_batch_may_be_turned_differently(config):
    scheme, x = build_position(replace(SMALL, position=config), decoder(SMALL)), torch.randn(2, 3, 2, 8)
    turned = scheme.rotation(Span(torch.tensor([[0, 1], [5, 6]]), 7))(x)
    torch.testing.assert_close(turned[1], scheme.rotation(Span.run(5, 2, CPU))(x)[1])
