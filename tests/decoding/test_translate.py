"""From lines to lines: order, count, blanks, odd characters, batches."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Sequence

import pytest
import torch

from tests.decoding.models import PrefixTable, Recurrent
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import batches, one_line, pad, shared_out, translate

VOCABULARY = 260
LINE_MARKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


class Bytes:
    """UTF-8 bytes as ids 4 to 259."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[byte + 4 for byte in line.encode()] for line in lines]

    def decode(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        return [bytes(token - 4 for token in sequence).decode(errors="replace") for sequence in sequences]


class Copies(PrefixTable):
    """Writes what it reads."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY, eos=2)

    def logits(self, source: list[int], prefix: list[int]) -> torch.Tensor:
        logits = torch.zeros(VOCABULARY)
        logits[source[len(prefix)] if len(prefix) < len(source) else 2] = 20.0
        return logits


def settings(beam: int = 4, nbest: int = 1) -> SearchSettings:
    return SearchSettings(beam=beam, alpha=0.6, extra_length=10, nbest=nbest)


def translated(lines: Sequence[str], tokens_per_batch: int = 200) -> list[str]:
    return [each.text for each in translate(Copies(), Bytes(), lines, settings(), tokens_per_batch)]


def test_lines_come_back_in_their_order() -> None:
    lines = ["a long line", "b", "another one", "", "größer 雪 🎉", "c", "  two  spaces "]
    assert translated(lines, tokens_per_batch=12) == lines


@pytest.mark.parametrize("blank", ["", " ", "\t", "\u3000", "\u2028", "\r", " \x85 "])
def test_a_blank_line_gives_a_blank_line_and_is_not_decoded(blank: str) -> None:
    model = Copies()
    result = translate(model, Bytes(), ["a", blank, "b"], settings(), 100)
    assert [each.text for each in result] == ["a", "", "b"]
    assert model.steps[0] == 2


def test_only_blank_lines_and_no_lines_are_fine() -> None:
    assert translated(["", ""]) == ["", ""]
    assert translated([]) == []


def test_marks_that_some_reader_splits_at_do_not_leave_the_translation() -> None:
    line = f"x{'y'.join(LINE_MARKS)}z"
    [text] = translated([line])
    assert text.splitlines() == [text]
    assert text == "x" + "y".join(" " * len(LINE_MARKS)) + "z"


@pytest.mark.parametrize("char", [*LINE_MARKS, "\n", "\x00", "\x1b", "\x7f", "\x9b"])
def test_control_characters_become_spaces(char: str) -> None:
    assert one_line(f"a{char}b") == "a b"


@pytest.mark.parametrize("text", ["a\tb", "a\u00a0b", "‚x‘ – 雪", "e\u0301", "🏳️‍🌈", "  "])
def test_everything_else_is_left_alone(text: str) -> None:
    assert one_line(text) == text


def test_a_source_beyond_the_models_positions_is_cut_and_counted() -> None:
    model = Copies()
    model.max_source_length = 5
    result = translate(model, Bytes(), ["abcd", "abcdefg", "ab"], settings(), 100)
    assert [each.source_cut for each in result] == [False, True, False]
    assert [each.text for each in result] == ["abcd", "abcd", "ab"]


def test_without_such_a_limit_any_length_goes_on() -> None:
    line = "abcdefghij" * 30
    assert translated([line], tokens_per_batch=50) == [line]


def test_scores_and_nbest_come_along() -> None:
    [result] = translate(PrefixTable(VOCABULARY, 2, end=4.0), Bytes(), ["ab"], settings(4, nbest=3), 100)
    assert result.text == result.candidates[0].text
    assert result.score == result.candidates[0].score
    assert len(result.candidates) == 3
    for candidate in result.candidates:
        penalty = ((5 + len(candidate.ids) + 1) / 6) ** 0.6
        assert candidate.score == pytest.approx(candidate.log_probability / penalty, rel=1e-5)


@pytest.mark.parametrize("beam", [1, 4])
def test_batches_and_order_do_not_change_a_translation(beam: int) -> None:
    """The words of the source are the model's only cue, so sentences that mix would show."""
    model, tokenizer = Recurrent(VOCABULARY, sharpness=4.0), Bytes()
    rng = random.Random(5)
    lines = ["".join(rng.choices("abcdefgh ", k=length)).replace(" ", "x ") for length in range(1, 21)]
    alone = [translate(model, tokenizer, [line], settings(beam), 1)[0] for line in lines]
    assert len({each.text for each in alone}) > 10
    for tokens_per_batch in (60, 150, 10_000):
        order = rng.sample(range(20), 20)
        together = translate(model, tokenizer, [lines[i] for i in order], settings(beam), tokens_per_batch)
        for i, each in zip(order, together, strict=True):
            assert each.text == alone[i].text
            assert each.score == pytest.approx(alone[i].score, abs=1e-4)


def test_threads_change_neither_a_translation_nor_the_order() -> None:
    model, tokenizer = Recurrent(VOCABULARY, sharpness=4.0), Bytes()
    rng, before = random.Random(6), torch.get_num_threads()
    lines = ["".join(rng.choices("abcdefgh", k=length)) for length in range(1, 21)]
    workers: set[int] = set()
    start = model.start
    model.start = lambda *of: workers.add(threading.get_ident()) or start(*of)
    try:
        torch.set_num_threads(1)
        alone = translate(model, tokenizer, lines, settings(4), 40)
        assert workers == {threading.get_ident()}
        torch.set_num_threads(3)
        together = translate(model, tokenizer, lines, settings(4), 40)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert len(workers) > 1
    assert [each.text for each in together] == [each.text for each in alone]


def test_a_mistake_in_a_thread_is_told_and_the_threads_are_given_back() -> None:
    model, before = Copies(), torch.get_num_threads()

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    model.start = fails
    try:
        torch.set_num_threads(2)
        with pytest.raises(ZeroDivisionError):
            translate(model, Bytes(), ["abc", "d"], settings(), 4)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_dropout_is_off_while_translating_and_back_on_after() -> None:
    model = Recurrent(VOCABULARY).train()
    first, second = (translate(model, Bytes(), ["abc"], settings(), 100)[0] for _ in range(2))
    assert first == second
    assert model.training
    translate(model.eval(), Bytes(), ["abc"], settings(), 100)
    assert not model.training


def test_progress_adds_up_to_the_number_of_lines() -> None:
    done: list[int] = []
    translate(Copies(), Bytes(), ["abc", "", "d", "ef"], settings(), 4, progress=done.append)
    assert sum(done) == 4
    assert len(done) > 2


def test_batches_cover_every_line_once_within_the_budget() -> None:
    rng = random.Random(1)
    lengths = [rng.randint(1, 40) for _ in range(101)] + [500]
    found = list(batches(lengths, 120))
    assert sorted(index for batch in found for index in batch) == list(range(102))
    assert found[0] == [101]  # more than the budget by itself, so alone
    for batch in found[1:]:
        assert len(batch) * max(lengths[index] for index in batch) <= 120
    padding = sum(max(lengths[i] for i in batch) - lengths[j] for batch in found for j in batch)
    assert padding < 0.1 * sum(lengths)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_batches_are_shared_out_evenly_among_the_workers(workers: int) -> None:
    rng = random.Random(1)
    lengths = [rng.randint(3, 40) for _ in range(1000)]
    shares = shared_out(lengths, 4000, workers)
    sizes = [len(batch) * max(lengths[index] for index in batch) for batch in shares]
    assert sorted(index for batch in shares for index in batch) == list(range(1000))
    assert len(shares) % workers == 0
    assert max(sizes) <= 4000
    assert min(sizes) > 0.9 * max(sizes)


def test_what_cannot_be_shared_out_evenly_is_shared_out_nevertheless() -> None:
    assert shared_out([], 4000, 2) == []
    assert shared_out([5], 4000, 2) == [[0]]
    assert shared_out([5, 5], 4000, 2) == [[0], [1]]
    assert shared_out([9, 5000, 7], 4000, 2) == [[1], [0, 2]]  # one is larger than the budget


def test_padding_stands_at_the_right_and_is_masked() -> None:
    source, mask = pad([[5, 2], [6, 7, 8, 2]], torch.device("cpu"))
    assert source.tolist() == [[5, 2, 0, 0], [6, 7, 8, 2]]
    assert mask.tolist() == [[True, True, False, False], [True] * 4]
