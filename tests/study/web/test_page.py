"""The page is one file that asks for nothing, holds what the tables hold, and no text in it is markup."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.study.folders import config, result, write_failed, write_run
from tests.study.kept import REFERENCES, write_kept
from tests.study.test_curves import HEAD
from xformer.pages import policy
from xformer.study.report import build_report
from xformer.study.web.page import report_html

VOID = {"meta", "link", "br", "input"}
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><!--",
    "</style></title></table>",
    "&lt;&amp; & \"double\" 'single' `back`",
    r"_%$#{}~^\ {{ 7*7 }} {% raw %}",
    "two\nlines\r\u2028and\u202eturned",
]


class Parsed(HTMLParser):
    """Every start tag with its attributes; text by the tag around it. Raises where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.words.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.words[self.open[-1]][-1] += data


def page(root: Path) -> str:
    report = build_report(root)
    return report_html(report.runs, report.tables, report.unplaced, report.verdict, report.findings)


def full(root: Path, text: str = "plain") -> str:
    """A page with every part, and `text` wherever foreign text can stand."""
    for seed in (1, 2):
        write_kept(root, "table3/base", seed)
        write_kept(root, "modern/rope", seed, lost=0.1)
    folder = write_run(
        root,
        "custom",
        overrides=(f"x={text}",),
        configuration=config("custom", changes=[text]),
        outcome=result(commit=text, versions={text: text}, device=text),
    )
    (folder / "metrics.csv").write_text(f"{HEAD}1,10,0,5,5,1,1,1,9,1\n2,20,0,4,4,1,1,1,8,1\n")
    for kept in root.glob("*/*/*/hypotheses/test.bleu.csv"):
        lines = (f"{line} {text}".replace("\n", " ") for line in REFERENCES)
        kept.with_name("test.txt").write_text("".join(f"{line}\n" for line in lines))
    write_run(root, "table3/A_h1", state="failed", reason=text)
    write_run(root, "table3/big", state="running", updates=120, updates_planned=400, host="elsewhere", pid=1)
    write_failed(root, "modern/gqa", f"y={text}", reason=text)
    return page(root)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup(tmp_path: Path, text: str) -> None:
    plain, nasty = Parsed(full(tmp_path / "a")), Parsed(full(tmp_path / "b", text))
    assert [tag for tag, _ in nasty.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(attributes) for _, attributes in nasty.tags] == [sorted(a) for _, a in plain.tags]
    assert nasty.words["script"][-1] == plain.words["script"][-1]  # the others are data
    assert nasty.words["style"] == plain.words["style"]
    shown = " ".join(text.replace("\u202e", "\ufffd").split())
    assert f"x={shown}" in nasty.words["dd"]
    assert any(shown in words for words in nasty.words["code"]) or "'" in shown
    assert any(shown in words for words in nasty.words["td"])  # a translation
    assert any(words.endswith(f"failed: {shown}") for words in nasty.words["li"])


def test_the_page_asks_for_nothing_outside_itself(tmp_path: Path) -> None:
    text = full(tmp_path)
    parsed = Parsed(text)
    (said,) = (a["content"] for _, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert said == policy(style, script)  # to the letter, else a browser runs neither
    assert "unsafe" not in said
    for _, attributes in parsed.tags:
        assert not {"src", "srcset", "action", "style"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#")[0] == "#" or attributes["href"] == "data:,"
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|XMLHttpRequest|import\(", text)


def test_links_and_labels_lead_somewhere_and_names_are_given_once(tmp_path: Path) -> None:
    tags = Parsed(full(tmp_path)).tags
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"] for tag, a in tags if tag == "a"} <= {f"#{each}" for each in ids}
    assert {a["aria-labelledby"] for _, a in tags if "aria-labelledby" in a} <= set(ids)
    assert ("html", {"lang": "en"}) in tags


def test_headings_sort_by_keyboard_and_say_so(tmp_path: Path) -> None:
    parsed = Parsed(full(tmp_path))
    assert len(parsed.words["button"]) > 30
    assert ("p", {"id": "said", "class": "quiet", "role": "status"}) in parsed.tags
    regions = [a for tag, a in parsed.tags if a.get("role") == "region"]
    assert all(a.get("tabindex") == "0" and a.get("aria-labelledby") for a in regions)


def test_states_claims_commands_and_translations_are_there(tmp_path: Path) -> None:
    words = Parsed(full(tmp_path)).words
    assert {"finished", "failed", "missing", "running 120/400"} <= {each.strip() for each in words["td"]}
    assert {"not run"} <= set(words["td"])
    assert "xformer train experiments=modern/rope scale=tiny seed=2" in words["code"]
    assert "base and modern/rope" in words["summary"]
    assert any(each.endswith("†") for each in words["td"])
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0" in words["dd"]


def test_intervals_are_drawn_beside_their_figures(tmp_path: Path) -> None:
    tags = Parsed(full(tmp_path)).tags
    bars = [a for tag, a in tags if tag == "svg" and a.get("class") == "bar"]
    assert len(bars) >= 2
    assert all(a["aria-hidden"] == "true" for a in bars)


def test_no_secret_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "hunter2-environment")
    write_run(tmp_path, "custom", overrides=("+tracker.api_key=hunter2-override",))
    assert "hunter2" not in page(tmp_path)


def test_the_same_runs_give_the_same_page(tmp_path: Path) -> None:
    assert full(tmp_path) == page(tmp_path)


def test_a_hundred_and_twenty_runs_are_built_in_time_and_stay_small(tmp_path: Path) -> None:
    line = "{0},{1},0.1,5.5,5.4,0.1,1.0,8000,,\n"
    curve = HEAD + "".join(line.format(50 * n, 3000 * n) for n in range(1, 400))
    for number in range(40):
        for seed in (1, 2, 3):
            name = "table3/base" if number == 0 else f"mine/row{number}"
            outcome = result(60 + number / 10 + seed / 50)
            folder = write_run(
                tmp_path, name, seed, configuration=config(name, seed), outcome=outcome, row_hash=str(number)
            )
            (folder / "metrics.csv").write_text(curve)
    began = time.process_time()
    text = page(tmp_path)
    assert time.process_time() - began < 15
    assert len(text) < 3_000_000


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_is_valid_javascript(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(Parsed(full(tmp_path / "runs")).words["script"][-1])
    ended = subprocess.run(["node", "--check", tmp_path / "page.js"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_a_phone_a_dark_screen_and_paper_are_served(tmp_path: Path) -> None:
    text = full(tmp_path)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    for medium in ("prefers-color-scheme: dark", "max-width: 36rem", "@media print"):
        assert medium in text
