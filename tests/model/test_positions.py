"""Position schemes agree with their formulas at every length, in every precision."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch

from tests.model.configs import HALVES, LEARNED, SINUSOIDAL, SMALL
from xformer.errors import UserError
from xformer.model import build
from xformer.model.positions import Learned, Position, Sinusoidal, Span, build_position, sinusoids

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
    scheme = build_position(replace(SMALL, position=LEARNED))
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
    assert scheme.rotate(x, span) is x
    assert scheme.bias(span, span) is None
    assert scheme.max_length is None
