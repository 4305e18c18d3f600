"""Small plots: every point where it belongs, and no text that becomes markup."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from xformer.study.web.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Dot, Series, chart, interval_bar

HOSTILE = "<script>alert(1)</script>&\"'</svg>"


def circles(drawn: str) -> list[tuple[float, float]]:
    tree = ElementTree.fromstring(drawn)
    return [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in tree.iter("circle")]


def test_points_keep_their_order_and_stay_inside() -> None:
    dots = [Dot(1, 10), Dot(2, 30), Dot(4, 20), Dot(8, 25)]
    found = circles(chart("t", "x", "y", [Series(dots, "main")], logarithmic=True))
    xs, ys = zip(*found, strict=True)
    steps = [b - a for a, b in pairwise(xs)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)  # doublings are equal steps
    assert sorted(range(4), key=lambda n: -ys[n]) == [0, 2, 3, 1]
    assert all(LEFT <= x <= WIDTH - RIGHT for x in xs)
    assert all(TOP <= y <= HEIGHT - BOTTOM for y in ys)


def test_a_straight_axis_is_read_back_from_its_ticks() -> None:
    drawn = ElementTree.fromstring(chart("t", "x", "y", [Series([Dot(0, 0), Dot(10, 40)], "main")]))
    ticks = {
        float(each.text): float(each.get("y", "")) - 4
        for each in drawn.iter("text")
        if each.get("text-anchor") == "end" and each.text
    }
    assert len(ticks) >= 4
    (low, y_low), (high, y_high) = min(ticks.items()), max(ticks.items())
    at = y_low + (40 - low) / (high - low) * (y_high - y_low)
    assert at == pytest.approx(min(y for _, y in circles(ElementTree.tostring(drawn, "unicode"))), abs=0.2)


def test_what_is_no_number_is_left_out_and_nothing_gives_nothing() -> None:
    dots = [Dot(1, math.nan), Dot(math.inf, 1), Dot(2, 3), Dot(0, 1)]
    assert len(circles(chart("t", "x", "y", [Series(dots, "main")], logarithmic=True))) == 1
    assert chart("t", "x", "y", [Series([Dot(0, 1)], "main")], logarithmic=True) == ""
    assert chart("t", "x", "y", []) == ""


@pytest.mark.parametrize("value", [0.0, 1e-9, -3.0, 1e9])
def test_a_single_point_of_any_size_is_drawn(value: float) -> None:
    assert len(circles(chart("t", "x", "y", [Series([Dot(1, value)], "main")]))) == 1


def test_text_stays_text() -> None:
    series = [Series([Dot(1, 1, HOSTILE), Dot(2, 2, HOSTILE)], "main", joined=True, label=HOSTILE)]
    tree = ElementTree.fromstring(chart(HOSTILE, HOSTILE, HOSTILE, series))
    tags = {each.tag for each in tree.iter()}
    assert tags == {"figure", "figcaption", "svg", "line", "text", "circle", "title", "polyline"}
    said = [each.text for each in tree.iter("title")]
    assert said == [HOSTILE] * 3


def rect(drawn: str) -> tuple[float, float, str]:
    (found,) = ElementTree.fromstring(drawn).iter("rect")
    left = float(found.get("x", ""))
    return left, left + float(found.get("width", "")), found.get("class", "")


def test_an_interval_crosses_zero_on_the_bar_where_it_does_in_figures() -> None:
    left, right, look = rect(interval_bar(1.0, 2.0, 4.0))
    assert left < 48 < right
    assert look == "unclear"
    left, right, look = rect(interval_bar(-2.0, 1.0, 4.0))
    assert right < 48
    assert look == "clear"
    assert right - left == pytest.approx(22, abs=0.2)  # 2 of 8 of 88 pixels


def test_what_lies_beyond_the_bar_ends_in_an_arrow() -> None:
    assert "polygon" in interval_bar(-9.0, 1.0, 4.0)
    assert "polygon" not in interval_bar(-3.0, 9.0, 4.0)
    left, right, _ = rect(interval_bar(-3.0, 9.0, 4.0))
    assert 0 <= left <= right <= 96
    assert not re.search("nan|inf", interval_bar(0.0, 0.0, 1.0))
