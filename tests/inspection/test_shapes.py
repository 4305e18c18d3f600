"""The table of shapes is the model's own."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.model.configs import BASE, SMALL, VARIANTS, VOCABULARY
from xformer.inspection.blank import blank
from xformer.inspection.shapes import Block, Row, readable, shape_table


def table(config=SMALL) -> list[Block]:
    return shape_table(config, blank(readable(config), VOCABULARY))


def rows(config=SMALL) -> list[Row]:
    return [row for block in table(config) for row in block.rows]


def find(blocks: list[Block], module: str, operation: str) -> list[str]:
    return [
        " | ".join(row.letters)
        for block in blocks
        for row in block.rows
        if (row.module, row.operation) == (module, operation)
    ]


@pytest.mark.parametrize("name", VARIANTS)
def test_letters_come_to_the_sizes_beside_them(name):
    """The two come from different models; here the letters are worked out once more, by Python."""
    config = VARIANTS[name]
    sizes = {"B": 2, "S": 7, "T": 6, "D": config.d_model, "H": config.heads, "G": config.key_value_heads,
             "K": config.d_k, "V": config.d_v, "F": config.d_ff, "W": VOCABULARY}  # fmt: skip
    for row in rows(config):
        for letters, shape in zip(row.letters, row.sizes, strict=True):
            worked_out = tuple(eval(each.replace("·", "*"), {}, sizes) for each in letters.split(" "))
            assert worked_out == shape, row


@pytest.mark.parametrize("name", VARIANTS)
def test_no_size_is_left_without_letters(name):
    for row in rows(VARIANTS[name]):
        for letters in row.letters:
            assert not re.search(r"(?<![·/\d])\d{2,}", letters), row


def test_the_attention_of_the_paper_is_as_in_its_section_3_2():
    blocks, layer = table(), "encoder.layers.*.attention"
    assert find(blocks, f"{layer}.input", "Projections") == ["B S H·K | B S H·K | B S H·V"]
    assert find(blocks, layer, "view, transpose") == ["B H S K", "B H S K", "B H S V"]
    assert find(blocks, layer, "matmul") == ["B H S S", "B H S V"]
    assert find(blocks, layer, "softmax") == ["B H S S"]
    assert find(blocks, f"{layer}.output", "Linear") == ["B S D"]
    assert find(blocks, "decoder.layers.*.cross_attention", "matmul") == ["B H S T", "B H T V"]
    assert find(blocks, "decoder.layers.*.feedforward.inner", "Linear") == ["B T F"]


def test_it_goes_from_token_ids_to_logits():
    first, *_, last = rows()
    assert (first.operation, first.letters, first.sizes) == ("source ids", ("B S",), ((2, 7),))
    assert (last.letters, last.sizes) == (("B T W",), ((2, 6, VOCABULARY),))


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_equal_layers_are_one_block_with_their_number(layers):
    times = [block.times for block in table(replace(SMALL, layers=layers)) if block.times > 1]
    assert times == ([layers, layers] if layers > 1 else [])


def test_shared_keys_and_values_show_their_own_letter():
    blocks = table(VARIANTS["grouped_query"])
    found = find(blocks, "encoder.layers.*.attention.input", "Projections")
    assert found == ["B S H·K | B S G·K | B S G·V"]


def test_sentences_are_shortened_to_the_positions_that_exist():
    learned = VARIANTS["learned"]
    few = replace(learned, position=replace(learned.position, max_length=4))
    assert rows(few)[0].sizes == ((2, 4),)


def test_the_paper_base_model_is_described_at_its_own_size():
    (last,) = (row for row in rows(BASE) if row.letters == ("B T W",))
    assert last.sizes == ((2, 6, VOCABULARY),)
    assert find(table(BASE), "decoder.layers.*.feedforward.inner", "Linear") == ["B T F"]
