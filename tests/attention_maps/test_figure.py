"""The picture: every map in its place, all labels legible, one scale of colours, no display."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from tests.attention_maps.models import made_up
from tests.system.commands import environment
from xformer.attention_maps.figure import _CELL, _LABEL_ROOM, DOTS_PER_INCH, draw, image
from xformer.attention_maps.maps import TITLES, AttentionMaps, only


def map_axes(figure: Figure) -> list:
    return [axes for axes in figure.axes if axes.images]


def boxes(figure: Figure) -> list[tuple[float, float, float, float]]:
    """Left, bottom, right, top of every map, in inches."""
    width, height = figure.get_size_inches()
    found = [axes.get_position() for axes in map_axes(figure)]
    return [(b.x0 * width, b.y0 * height, b.x1 * width, b.y1 * height) for b in found]


@pytest.fixture(scope="module")
def maps() -> AttentionMaps:
    return made_up()


def test_each_map_is_drawn_with_its_own_weights_on_the_scale_from_0_to_1(maps: AttentionMaps) -> None:
    drawn = map_axes(draw(maps))
    expected = [m for grid in maps.grids for m in grid.weights_LHTS.reshape(-1, *grid.weights_LHTS.shape[2:])]
    assert len(drawn) == len(expected) == 18
    for axes, weights in zip(drawn, expected, strict=True):
        (picture,) = axes.images
        np.testing.assert_array_equal(picture.get_array(), weights)
        assert picture.get_clim() == (0, 1)


def test_layers_go_down_heads_to_the_right_and_nothing_overlaps(maps: AttentionMaps) -> None:
    figure = draw(maps)
    width, height = figure.get_size_inches()
    places = boxes(figure)
    for block in range(3):
        rows = np.array(places[6 * block : 6 * block + 6]).reshape(2, 3, 4)  # layers, heads, sides
        assert (np.diff(rows[:, :, 0], axis=1) > 0).all()
        assert (np.diff(rows[:, :, 1], axis=0) < 0).all()
    for i, (x0, y0, x1, y1) in enumerate(places):
        assert 0 < x0 < x1 < width
        assert 0 < y0 < y1 < height
        assert all(x1 <= a or c <= x0 or y1 <= b or d <= y0 for a, b, c, d in places[:i])


def test_tokens_kinds_layers_heads_and_text_are_all_written(maps: AttentionMaps) -> None:
    figure = draw(maps)
    written = [text.get_text() for text in figure.texts]
    assert [text for text in written if text in TITLES.values()] == [TITLES[g.kind] for g in maps.grids]
    assert any(text.startswith("source: </script>") for text in written)
    first, *_, last = map_axes(figure)
    names = [token.label for token in maps.grids[0].queries]
    assert [label.get_text() for label in first.get_yticklabels()] == [
        name if len(name) <= 14 else name[:13] + "…" for name in names
    ]
    assert first.get_title() == "head 1"
    assert first.get_ylabel() == "layer 1"
    assert [label.get_rotation() for label in last.get_xticklabels()] == [90.0] * 4


def test_a_map_alone_has_the_models_numbers_and_the_size_of_a_slide() -> None:
    figure = draw(only(made_up(), "decoder", 2, 3))
    maps = [axes for axes in figure.axes if axes.images]
    assert [(axes.get_title(), axes.get_ylabel()) for axes in maps] == [("head 3", "layer 2")]
    assert maps[0].get_position().width * figure.get_figwidth() == pytest.approx(4)


def test_no_label_is_cut_by_the_page_or_by_a_map(maps: AttentionMaps) -> None:
    figure = draw(maps)
    figure.draw_without_rendering()  # places labels
    width, height = figure.bbox.size
    drawn = map_axes(figure)
    for axes in drawn:
        for text in [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.title, axes.yaxis.label]:
            box = text.get_window_extent()
            if not text.get_text():
                continue
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= width
            assert box.y1 <= height
            assert not any(box.shrunk(0.8, 0.8).overlaps(other.get_window_extent()) for other in drawn)


@pytest.mark.parametrize(
    ("source", "target", "layers", "heads"), [(1, 1, 1, 1), (90, 130, 3, 8), (12, 9, 1, 32), (5, 4, 20, 1)]
)
def test_a_page_stays_of_a_size_that_opens_and_its_labels_apart(
    source: int, target: int, layers: int, heads: int
) -> None:
    figure = draw(made_up(source, target, layers, heads))
    assert (figure.get_size_inches() * DOTS_PER_INCH < 10_000).all()
    for axes, (x0, _, x1, _) in zip(map_axes(figure), boxes(figure), strict=True):
        ticks = axes.get_xticks()
        if len(ticks) > 1:
            columns = axes.images[0].get_array().shape[1]
            apart = (ticks[1] - ticks[0]) * (x1 - x0) / columns
            assert apart > 0.99 * _LABEL_ROOM
    assert _CELL > _LABEL_ROOM  # so that an ordinary sentence has all its labels


def test_a_png_has_the_figures_size_and_the_darkest_cell_where_the_weight_is_greatest() -> None:
    maps = made_up(layers=1, heads=1)
    with Image.open(io.BytesIO(image(maps, "png"))) as picture:
        pixels = np.asarray(picture.convert("L")).astype(float)
    figure = draw(maps)
    width, height = figure.get_size_inches()
    assert pixels.shape == (int(height * DOTS_PER_INCH), int(width * DOTS_PER_INCH))
    x0, _, x1, y1 = boxes(figure)[0]
    cell = (x1 - x0) / 4
    grey = [
        [
            pixels[int((height - y1 + (r + 0.5) * cell) * 150), int((x0 + (c + 0.5) * cell) * 150)]
            for c in range(4)
        ]
        for r in range(4)
    ]
    weights = maps.grids[0].weights_LHTS[0, 0]
    assert np.array(grey).argmin() == weights.argmax()
    assert np.corrcoef(np.array(grey).ravel(), weights.ravel())[0, 1] < -0.95


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_the_same_maps_give_the_same_bytes(maps: AttentionMaps, kind: str, start: bytes) -> None:
    first = image(maps, kind)
    assert first.startswith(start)
    assert first == image(maps, kind)


def test_a_style_of_the_users_own_changes_nothing(maps: AttentionMaps) -> None:
    with matplotlib.rc_context({"text.usetex": True, "axes.grid": True, "font.size": 30, "savefig.dpi": 10}):
        styled = image(maps, "png")
    assert styled == image(maps, "png")


def test_missing_characters_are_told_in_one_line_and_nothing_else_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    maps = made_up(layers=1, heads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image(replace(maps, source="plain", target="plain"), "png")
        assert capsys.readouterr().err == ""
        image(replace(maps, source="漢字"), "png")
    assert capsys.readouterr().err.count("\n") == 1


def test_neither_pyplot_nor_a_window_toolkit_is_loaded() -> None:
    code = (
        "import sys; from tests.attention_maps.models import made_up; "
        "from xformer.attention_maps.figure import image; image(made_up(), 'png'); "
        "print([m for m in sys.modules if m.split('.')[0] in ('tkinter', 'PyQt6', 'gi') or 'pyplot' in m])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment(MPLBACKEND="TkAgg"), capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "[]"
