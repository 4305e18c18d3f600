"""The page holds the maps to the last step, is one file, and no text in it can become markup."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.attention_maps.models import NASTY, made_up
from xformer.attention_maps import page as module
from xformer.attention_maps.maps import labels
from xformer.attention_maps.page import page
from xformer.errors import UserError
from xformer.pages import policy

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Parsed(HTMLParser):
    """The elements of a page: every start tag with its attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif not (self.open and self.open[-1] == "style"):
            self.words += data


def data_of(text: str) -> dict[str, Any]:
    return dict(json.loads(Parsed(text).scripts[0]))


def test_every_weight_comes_back_from_the_page() -> None:
    maps = made_up()
    for grid, stored in zip(maps.grids, data_of(page(maps).decode())["grids"], strict=True):
        assert (stored["kind"], stored["layers"], stored["heads"]) == (grid.kind, 2, 3)
        assert stored["queries"] == labels(grid.queries)
        assert stored["keys"] == labels(grid.keys)
        assert stored["written"] == [token and token.label for token in grid.written]
        weights = np.frombuffer(base64.b64decode(stored["weights"]), "<u2") / 65535
        np.testing.assert_allclose(weights.reshape(grid.weights_LHTS.shape), grid.weights_LHTS, atol=1e-5)


def test_the_text_comes_back_whatever_is_in_it() -> None:
    maps = made_up()
    data = data_of(page(maps).decode())
    assert (data["source"]["text"], data["target"]["text"]) == (maps.source, maps.target)
    assert (data["run"], data["update"], data["averaged_checkpoints"]) == (maps.run, 10, 2)
    assert data["target"]["translated"] is True


@pytest.mark.parametrize(
    "text", [*NASTY, "/*SCRIPT*/ /*STYLE*/ /*DATA*/", "<!--<script>", "]]>", "\x00\x1b\ufffe\u2028"]
)
def test_no_text_becomes_markup(text: str) -> None:
    maps = made_up()
    plain = Parsed(page(replace(maps, source="x", target="x", run="x")).decode())
    nasty = Parsed(page(replace(maps, source=text, target=text, run=text)).decode())
    assert nasty.tags == plain.tags
    assert nasty.scripts[1:] == plain.scripts[1:]
    assert nasty.words == plain.words
    assert nasty.open == plain.open == []
    assert json.loads(nasty.scripts[0])["source"]["text"] == text


def test_the_embedded_data_is_ascii_without_a_character_of_html() -> None:
    data = Parsed(page(made_up()).decode()).scripts[0]
    assert data.isascii()
    assert data.isprintable()
    assert not set(data) & set("<>&")


def test_the_page_asks_for_nothing_outside_itself() -> None:
    text = page(made_up()).decode()
    parsed = Parsed(text)
    (said,) = (a["content"] for tag, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert said == policy(style, parsed.scripts[1])  # to the letter, else a browser runs neither
    assert "unsafe" not in said
    addresses = [a[name] for _, a in parsed.tags for name in ("src", "href", "action", "srcset") if name in a]
    assert addresses == ["data:,"]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|XMLHttpRequest|import\(", text)
    assert not [a for _, a in parsed.tags if any(name.startswith("on") for name in a)]


def test_words_reach_the_page_as_text_only() -> None:
    script = Parsed(page(made_up()).decode()).scripts[1]
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert way not in script


def test_controls_have_names_and_a_phone_and_a_dark_screen_are_served() -> None:
    text = page(made_up()).decode()
    tags = Parsed(text).tags
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in tags:
        for name in ("aria-labelledby", "aria-describedby"):
            assert set((attributes.get(name) or "").split()) <= set(ids)
    assert ("html", {"lang": "en"}) in tags
    assert any(a.get("name") == "viewport" for _, a in tags)
    assert "prefers-color-scheme: dark" in text
    for tag, attributes in tags:
        if tag in ("select", "input"):  # each stands inside its label
            assert re.search(rf"<label>[^<]*<{tag} [^>]*id=\"{attributes['id']}\"", text)


def test_every_element_that_the_script_names_is_there() -> None:
    parsed = Parsed(page(made_up()).decode())
    named = set(re.findall(r"\bat\(\"([\w-]+)\"\)", parsed.scripts[1]))
    assert len(named) > 10
    assert named <= {a["id"] for _, a in parsed.tags if "id" in a}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_is_valid_javascript(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(Parsed(page(made_up()).decode()).scripts[1])
    ended = subprocess.run(["node", "--check", tmp_path / "page.js"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_the_script_cannot_end_its_own_element() -> None:
    folder = resources.files("xformer.attention_maps")
    assert "</" not in folder.joinpath("page.js").read_text(encoding="utf-8")
    assert "</" not in folder.joinpath("page.css").read_text(encoding="utf-8")


def test_more_than_a_browser_can_open_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 100)
    with pytest.raises(UserError, match=r"222 attention weights .* write \.npz"):
        page(made_up())
