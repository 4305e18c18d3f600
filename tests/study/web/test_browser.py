"""The page in a real browser: it loads without a word in the console, sorts, draws, and fits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.study.folders import config, write_failed, write_run
from tests.study.kept import REFERENCES, outputs, write_kept
from tests.study.test_curves import HEAD
from tests.study.web.browser import Browser, browser
from xformer.study.report import write_report

CURVE = "1,1000,0,5,5,1,1,1,9,1\n2,2000,0,4,4,1,1,1,8,1\n3,3000,0,4,3,1,1,1,6,1\n"
NAMES = ("table3/base", "table3/A_h1", "table3/A_h32", "modern/rope", "modern/swiglu_x")
BY_NAME = 'table.grid th[data-kind="words"] button'


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("browser")
    for number, name in enumerate(
        ("table3/base", "table3/A_h1", "table3/A_h32", "modern/rope", "modern/swiglu_x")
    ):
        for seed in (1, 2):
            folder = write_kept(root / "runs", name, seed, 0.1 + number / 30)
            lines = outputs(seed + 100 * len(name), 0.1 + number / 30)
            (folder / "hypotheses" / "test.txt").write_text("".join(f"{line}\n" for line in lines))
            (folder / "metrics.csv").write_text(HEAD + CURVE)
    long = ("model.dropout=0.25", "optim.warmup_updates=12000", "model.feedforward.kind=swiglu")
    write_run(root / "runs", overrides=long, configuration=config(model__dropout=0.25))
    write_run(root / "runs", "table3/C_n2", state="failed", reason="no space left on device: " + "x" * 200)
    write_failed(root / "runs", "modern/gqa", "model.heads=3", reason="cannot be divided")
    write_report(root / "runs", root / "out")
    return root / "out" / "report.html"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def first_table(chromium: Browser) -> list[str]:
    rows = "[...document.querySelector('table.grid').tBodies[0].rows]"
    return list(chromium.run(f"return {rows}.map(row => row.cells[1].textContent)"))


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_nothing_is_said_in_the_console_and_nothing_asked_of_the_network(
    page: Path, chromium: Browser, width: int, dark: bool
) -> None:
    chromium.open(page, width=width, dark=dark)
    for details in chromium.all("details > summary"):
        chromium.run("arguments[0].click()", details)
    for button in chromium.all("table.grid thead button")[:8]:
        chromium.run("arguments[0].click()", button)
    assert chromium.logged() == []
    assert set(chromium.requests()) == {page.as_uri()}


def test_the_browser_would_tell_of_an_error_and_of_a_request(
    page: Path, chromium: Browser, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text('<img src="missing.png"><script>nothing.there()</script>')
    chromium.open(broken)
    assert any("nothing is not defined" in line for line in chromium.logged())
    assert any(url.endswith("missing.png") for url in chromium.requests())


def test_the_table_sorts_by_click_and_back(page: Path, chromium: Browser) -> None:
    chromium.open(page)
    before = first_table(chromium)
    name = chromium.all(BY_NAME)[0]
    name.click()
    ascending = first_table(chromium)
    assert ascending != before
    name.click()
    assert first_table(chromium) == ascending[::-1]
    assert "descending" in chromium.all("#said")[0].text
    chromium.all("table.grid thead button")[0].click()
    assert first_table(chromium) == before


def test_figures_sort_as_numbers_with_what_is_missing_last_either_way(page: Path, chromium: Browser) -> None:
    chromium.open(page)
    script = """const table = document.querySelector('table.grid');
        const headings = [...table.tHead.rows[1].cells];
        const column = headings.findIndex(h => h.textContent === 'test BLEU');
        headings[column].querySelector('button').click();
        return [...table.tBodies[0].rows].map(r => parseFloat(r.cells[column].textContent) || null)"""
    for order in (1, -1):
        cells = chromium.run(script)
        known = [cell for cell in cells if cell is not None]
        assert len(known) == 4
        assert known == sorted(known, reverse=order < 0)
        assert cells[: len(known)] == known


@pytest.mark.parametrize("key", ["\ue007", " "])  # Enter, the space bar
def test_the_table_sorts_by_keyboard_alone(page: Path, chromium: Browser, key: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    chromium.open(page)
    before = first_table(chromium)
    for _ in range(40):
        ActionChains(chromium.driver).send_keys("\ue004").perform()  # Tab
        if chromium.run("return document.activeElement.textContent") == "name":
            break
    width = chromium.run("return getComputedStyle(document.activeElement).outlineWidth")
    assert width == "3px"  # one sees where one is
    ActionChains(chromium.driver).send_keys(key).perform()
    assert first_table(chromium) != before
    assert (
        chromium.run("return document.activeElement.closest('th').getAttribute('aria-sort')") == "ascending"
    )


def test_every_plot_is_drawn_and_keeps_inside_its_frame(page: Path, chromium: Browser) -> None:
    chromium.open(page)
    chromium.unfold()
    script = """return [...document.querySelectorAll('.charts:not([hidden]) svg.chart')].map(svg => {
        const frame = svg.getBoundingClientRect();
        const marks = [...svg.querySelectorAll('circle, polyline')].map(each => each.getBoundingClientRect());
        return [frame.width > 100 && frame.height > 80, marks.length,
            marks.every(m => m.left >= frame.left && m.right <= frame.right && m.top >= frame.top
                && m.bottom <= frame.bottom),
            getComputedStyle(svg.querySelector('text')).fontSize]; })"""
    drawn = chromium.run(script)
    assert len(drawn) > 10
    assert all(large and marks and inside for large, marks, inside, _ in drawn)


@pytest.mark.parametrize(
    ("width", "media"), [(320, "screen"), (390, "screen"), (800, "screen"), (1032, "print")]
)
def test_the_page_never_scrolls_sideways(page: Path, chromium: Browser, width: int, media: str) -> None:
    """1,032 pixels are the width of A4 across, less its margins."""
    chromium.open(page, width=width, media=media)
    chromium.unfold()
    root = "document.documentElement"
    assert chromium.run(f"return {root}.scrollWidth - {root}.clientWidth") <= 0


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground_by_day_and_by_night(
    page: Path, chromium: Browser, dark: bool
) -> None:
    """WCAG 2.1, 1.4.3: a contrast of 4.5 at least."""
    chromium.open(page, dark=dark)
    chromium.unfold()
    script = """const light = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v / 255)
                .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ground = (each) => { for (; each; each = each.parentElement) {
            const colour = getComputedStyle(each).backgroundColor;
            if (!colour.endsWith(', 0)')) return colour; } };
        const found = [];
        const words = 'p, li, a, dt, dd, td, th, button, code, summary, label, option, svg.chart text';
        for (const each of document.querySelectorAll(words)) {
            const style = getComputedStyle(each);
            const own = light(each instanceof SVGElement ? style.fill : style.color);
            const [low, high] = [own, light(ground(each))].sort((a, b) => a - b);
            found.push([(high + 0.05) / (low + 0.05), `${each.tagName} ${each.className}`]); }
        return [light(getComputedStyle(document.body).backgroundColor), found]"""
    ground, contrasts = chromium.run(script)
    assert (ground < 0.1) == dark
    assert [each for each in contrasts if each[0] < 4.5] == []


def test_the_switch_shows_one_view_of_the_curves_at_a_time(page: Path, chromium: Browser) -> None:
    chromium.open(page)
    chromium.unfold()
    inputs = chromium.all(".switch input")
    assert [each.find_element("xpath", "..").text for each in inputs] == ["updates", "tokens", "FLOPs"]
    seen = set()
    for each in inputs:
        each.click()
        shown = [view for view in chromium.all(".charts[id]") if view.is_displayed()]
        assert [view.get_attribute("id") for view in shown] == [each.get_attribute("value")]
        seen.add(shown[0].find_element("css selector", "svg.chart").text)
    assert len(seen) == 3


def test_any_two_rows_stand_side_by_side(page: Path, chromium: Browser) -> None:
    chromium.open(page)
    left, right = chromium.all(".picker select")
    labels = [each.text for each in left.find_elements("css selector", "option")]
    assert {"base", "A_h1", "A_h32", "modern/rope"} <= set(labels)
    for one, other in (("A_h1", "modern/rope"), ("modern/rope", "base")):
        left.send_keys(one)
        right.send_keys(other)
        titles = [each.text for each in chromium.all(".picker thead th")]
        assert titles == ["line", one, other, "sentence BLEU"]
        lines = chromium.all(".picker tbody tr")
        assert len(lines) == 8
        gaps = []
        for line in lines:
            number, mine, theirs, change = (
                cell.text for cell in line.find_elements("css selector", "th, td")
            )
            assert mine != theirs
            assert 1 <= int(number) <= len(REFERENCES)
            before, after = map(float, change.split(" → "))
            gaps.append(abs(after - before))
        assert gaps == sorted(gaps, reverse=True)
    left.send_keys("base")
    assert chromium.all(".picker tbody tr") == []  # a row beside itself


def test_a_link_opens_what_it_leads_to(page: Path, chromium: Browser) -> None:
    chromium.open(page)
    chromium.all("table.grid tbody th a")[1].click()
    chromium.wait("return document.querySelector(':target')?.open === true")


def test_everything_is_unfolded_in_print(page: Path, chromium: Browser) -> None:
    chromium.open(page)
    chromium.run("window.dispatchEvent(new Event('beforeprint'))")
    assert chromium.run("return document.querySelectorAll('details:not([open])').length") == 0
    chromium.run("window.dispatchEvent(new Event('afterprint'))")
    assert chromium.run("return document.querySelectorAll('details:not([open])').length") > 0
