"""The prefix language model: one stack, one sequence, who sees whom, and positions that run on."""

from __future__ import annotations

from dataclasses import replace

import torch

from tests.model.configs import ALIBI, LEARNED, ROPE, SMALL, VOCABULARY
from xformer.model import build
from xformer.model.cache import run_on
from xformer.model.masks import prefix_mask

CONFIG = replace(SMALL, architecture="decoder_only", layers=2)


def test_the_stack_has_the_layers_of_both_and_no_cross_attention():
    model = build(CONFIG, VOCABULARY)
    assert len(model.decoder.layers) == 4
    assert not any("cross" in name for name, _ in model.named_parameters())


def test_source_tokens_see_the_source_and_target_tokens_also_the_past():
    allowed = prefix_mask(torch.tensor([[True, True, False]]), 2).allowed[0, 0]
    expected = [
        # source    target
        [1, 1, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 0, 0, 0],  # padding: its output is never used
        [1, 1, 0, 1, 0],
        [1, 1, 0, 1, 1],
    ]
    assert allowed.int().tolist() == expected


def test_target_positions_follow_each_sentences_own_source():
    mask = torch.tensor([[True, True, True], [True, False, False]])
    assert run_on(mask, 2).tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 1, 2]]


def test_the_source_does_not_see_the_target():
    model = build(CONFIG, VOCABULARY)
    source, mask = torch.randint(4, VOCABULARY, (2, 5)), torch.ones(2, 5, dtype=torch.bool)
    states = []
    model.decoder.layers[-1].register_forward_hook(
        lambda _module, _inputs, output: states.append(output[:, :5])
    )
    model(source, mask, torch.randint(4, VOCABULARY, (2, 4)))
    model(source, mask, torch.randint(4, VOCABULARY, (2, 7)))
    model.encode(source, mask)
    torch.testing.assert_close(states[0], states[1], atol=1e-5, rtol=0)
    torch.testing.assert_close(states[0], states[2], atol=1e-5, rtol=0)


def test_every_source_token_sees_the_whole_source():
    model = build(CONFIG, VOCABULARY)
    source, mask = torch.randint(4, VOCABULARY, (1, 6)), torch.ones(1, 6, dtype=torch.bool)
    before = model.encode(source, mask)
    changed = source.clone()
    changed[0, 5] = (source[0, 5] - 3) % (VOCABULARY - 4) + 4
    assert not torch.isclose(model.encode(changed, mask)[0, 0], before[0, 0]).all()


def test_source_and_target_are_one_sequence_to_position_schemes():
    """The target's first token is the next neighbour of the source's last, whatever padding lies between."""
    for position in (ROPE, ALIBI, LEARNED):
        model = build(replace(CONFIG, position=position), VOCABULARY)
        source, target = torch.randint(4, VOCABULARY, (1, 4)), torch.randint(4, VOCABULARY, (1, 3))
        alone = model(source, torch.ones(1, 4, dtype=torch.bool), target)
        padded = torch.nn.functional.pad(source, (0, 9))
        beside = model(padded, torch.arange(13)[None] < 4, target)
        torch.testing.assert_close(beside, alone, atol=1e-5, rtol=0)


def test_learned_positions_reach_over_the_longest_source_and_target():
    model = build(replace(CONFIG, position=LEARNED), VOCABULARY)
    assert model.max_source_length == model.max_target_length == LEARNED.max_length
    ids = torch.randint(4, VOCABULARY, (1, LEARNED.max_length))
    assert model(ids, torch.ones_like(ids, dtype=torch.bool), ids).isfinite().all()
