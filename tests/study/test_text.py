"""Numbers and foreign text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings, strategies as st
from markdown_it import MarkdownIt

from xformer.study import text

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
AWKWARD = st.text(st.sampled_from("|`*_<>&[]()~#\\!-+=.:1a \n\t\"'"), max_size=20)


class Cells(HTMLParser):
    """The text of every table cell, and every tag met."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in ("td", "li"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def rendered(markdown: str) -> Cells:
    cells = Cells()
    cells.feed(PARSER.render(markdown))
    return cells


@settings(max_examples=400)
@given(st.one_of(AWKWARD, st.text(max_size=20)))
@example("a|b")
@example("<script>alert(1)</script>")
@example("`code` **bold** __bold__ _x_ ~~gone~~ [text](url) ![i](u) <https://a.b> &lt; \\| $x$")
def test_any_text_in_a_markdown_table_is_shown_as_it_is(content: str) -> None:
    found = rendered(f"| a | b |\n| - | - |\n| {text.markdown(content)} | z |\n")
    assert [cell.strip() for cell in found.cells] == [text.plain(content), "z"]
    assert found.tags <= {"table", "thead", "tbody", "tr", "th", "td"}


@settings(max_examples=400)
@given(st.one_of(AWKWARD, st.text(max_size=20)))
@example("# heading")
@example("1. one")
@example("- item")
@example("---")
@example("+ x")
def test_any_text_in_a_markdown_list_is_shown_as_it_is(content: str) -> None:
    found = rendered(f"- {text.markdown(content)}\n")
    assert [cell.strip() for cell in found.cells] == [text.plain(content)]
    assert found.tags <= {"ul", "li"}


def test_words_with_underscores_stay_readable_in_markdown() -> None:
    assert text.markdown("model.d_model=4 and A_h16") == "model.d_model=4 and A_h16"


@given(st.text())
def test_plain_text_is_one_printable_line(content: str) -> None:
    assert text.plain(content).isprintable()


def test_what_steers_a_terminal_or_turns_the_writing_is_replaced() -> None:
    assert text.plain("a\x1b[31mb\u202ec\ud800\n\u2028d") == "a�[31mb�c� d"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1 k"),
        (999_600, "1 M"),
        (1.26e6, "1.26 M"),
        (3.3e18, "3.3 E"),
        (5e21, "5e+03 E"),
    ],
)
def test_magnitudes_have_three_digits_and_a_unit(value: float, written: str) -> None:
    assert text.magnitude(value) == written


def test_memory_is_in_binary_units() -> None:
    assert text.memory(512 * 2**20) == "512 MiB"
    assert text.memory(1.5 * 2**30) == "1.5 GiB"


def test_perplexity_loses_decimals_that_say_nothing() -> None:
    assert [text.perplexity(value) for value in (4.916, 12_345.6, 3.2e9)] == ["4.92", "12,346", "3e+09"]


@pytest.mark.parametrize(
    ("seconds", "written"), [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7_200, "2 h"), (200_000, "2 d")]
)
def test_an_age_is_in_its_largest_unit(seconds: float, written: str) -> None:
    assert re.sub(r"\s", " ", text.age(seconds)) == written


def test_differences_have_a_sign_and_true_minus() -> None:
    assert text.signed(0.314, text.hundredths) == "+0.31"
    assert text.signed(-0.314, text.hundredths) == "−0.31"
    assert text.signed(0.0, text.hundredths) == "0.00"
    assert text.signed(-0.0012, text.hundredths) == "−0.001"
    assert text.signed(-123456.0, text.hundredths) == "−123,456"
    assert text.correlation(-0.125) == "−0.12"


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.05, "0.050"), (0.0497, "0.050"), (0.0504, "0.0504"), (0.05000001, "0.05000001"), (0.0996, "0.100")],
)
def test_a_p_value_is_written_on_its_side_of_five_per_cent(value: float, written: str) -> None:
    assert text.p_value(value) == written


@pytest.mark.parametrize(
    ("deviation", "written"), [(0.04, "0.04"), (0.3, "0.3"), (0.0, "0.0"), (0.00021, "0.0002"), (2.34, "2.3")]
)
def test_a_standard_deviation_is_not_rounded_to_none(deviation: float, written: str) -> None:
    assert text.spread(deviation, text.bleu) == written


def test_a_p_value_is_never_zero() -> None:
    written = [text.p_value(p) for p in (0.0, 0.00099, 0.001, 0.0421, 0.123, 1.0)]
    assert written == ["<0.001", "<0.001", "0.001", "0.042", "0.12", "1.00"]
