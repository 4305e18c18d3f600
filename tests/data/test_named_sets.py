"""sacrebleu's test sets by name, with the network barred."""

from __future__ import annotations

import io
import socket
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from sacrebleu import dataset, utils
from sacrebleu.dataset import base

from xformer.data.named_sets import check_named, named_set
from xformer.errors import UserError

SGM = '<{kind}set><doc>\n<seg id="1">{one}</seg>\n<seg id="2">{two}</seg>\n</doc></{kind}set>\n'


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """sacrebleu's folder, which tests must neither find nor leave, and no way out."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("the network is barred")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(utils, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(base, "SACREBLEU_DIR", str(tmp_path))
    for name in ("wmt14", "wmt14/full"):
        monkeypatch.setattr(dataset.DATASETS[name], "_outdir", str(tmp_path / name))
        monkeypatch.setattr(dataset.DATASETS[name], "_rawdir", str(tmp_path / name / "raw"))
    return tmp_path


def archive() -> bytes:
    """Two sentences in the form of the official archive."""
    texts = {
        "test/newstest2014-deen-src.en.sgm": SGM.format(kind="src", one="A dog.", two="A cat."),
        "test/newstest2014-deen-ref.de.sgm": SGM.format(kind="ref", one="Ein Hund.", two="Eine Katze."),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


def test_without_a_network_it_is_told_and_nothing_is_left(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=r"cannot be fetched: .*barred.*--input FILE --reference FILE"):
        named_set("wmt14", "en-de")
    assert "fetching wmt14 from https://statmt.org/wmt14/test-filtered.tgz" in capsys.readouterr().err
    assert not list(empty.rglob("*.tgz"))


def test_a_wrong_checksum_is_told_and_the_file_is_not_kept(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda _: io.BytesIO(b"something else"))
    for _ in range(2):  # the second time too
        with pytest.raises(UserError, match="cannot be fetched"):
            named_set("wmt14", "en-de")
    assert not list(empty.rglob("*.tgz"))


def test_what_was_fetched_is_read_and_not_fetched_again(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda _: io.BytesIO(archive()))
    monkeypatch.setattr(dataset.DATASETS["wmt14"], "md5", None)
    monkeypatch.setattr(
        dataset.DATASETS["wmt14"], "langpairs", {"en-de": dataset.DATASETS["wmt14"].langpairs["en-de"]}
    )
    expected = ["A dog.", "A cat."], ["Ein Hund.", "Eine Katze."]
    assert named_set("wmt14", "en-de") == expected
    assert "fetching" in capsys.readouterr().err
    monkeypatch.setattr(urllib.request, "urlopen", None)
    assert named_set("wmt14", "en-de") == expected
    assert capsys.readouterr().err == ""


def test_unknown_names_are_refused_with_what_there_is() -> None:
    with pytest.raises(UserError, match=r"--testset wmt144: .*did you mean .*wmt14"):
        check_named("wmt144", "en-de")
    with pytest.raises(UserError, match=r"--langpair en-it: wmt14 has .*en-de"):
        check_named("wmt14", "en-it")
