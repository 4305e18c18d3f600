"""`xformer dashboard`: without a login a file and no word to anybody; with one, the server has it all."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.server import KEY, server
from tests.study.folders import config, write_run
from tests.system.commands import environment, words
from xformer.cli import main
from xformer.dashboard.command import FILE
from xformer.dashboard.offline import offline_records
from xformer.study.collect import collect

pytestmark = pytest.mark.skipif(find_spec("wandb_workspaces") is None, reason="needs wandb-workspaces")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in ("table3/base", "table3/A_h1"):
        for seed in (1, 2):
            tracked = config(name, seed, tracking={"kind": "wandb", "project": "mine", "entity": None})
            write_run(tmp_path / "runs", name, seed, configuration=tracked)
    return tmp_path / "runs"


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """No login, nobody to ask, and a list of all attempts to connect."""
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    tried: list[Any] = []
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, lambda self, address: tried.append(address) or 1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **_: tried.append(arguments) or [])
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("started a command"))
    return tried


def record(runs: Path) -> Path:
    """A real record of the run table3/base with seed 1, made offline."""
    (run,) = runs.glob("table3/base/*-s1-*")
    script = f"""import wandb
run = wandb.init(project='mine', id='{run.name[-8:]}', mode='offline', dir={str(run / "tracking")!r},
    settings=wandb.Settings(silent=True, console='off', disable_git=True))
run.log({{'nll': 1.0}}, step=1)
run.finish()"""
    (run / "tracking").mkdir()
    subprocess.run([sys.executable, "-c", script], check=True, env=environment(), timeout=60)
    (made,) = (run / "tracking" / "wandb").glob("offline-run-*")
    return made


def test_without_a_login_the_specification_is_written_and_nobody_is_asked(
    runs: Path, nobody: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dashboard", str(runs)]) == 0
    assert nobody == []
    said = capsys.readouterr().out
    assert "nothing was sent" in said
    assert f"xformer dashboard {runs} --project mine\n" in said
    written = json.loads((runs / FILE).read_text())
    assert (written["project"], written["entity"]) == ("mine", None)
    section = written["workspace"]["spec"]["section"]
    assert [each["name"] for each in section["panelBankConfig"]["sections"]] == [
        "Scores",
        "Scores against sizes",
        "Training speed and memory",
        "Learning curves",
        "Translations",
    ]
    chosen, scales = section["runSets"][0]["filters"]["filters"]
    assert chosen["value"] == ["table3/A_h1", "table3/base"]
    assert scales["value"] == ["tiny"]
    blocks = written["report"]["spec"]["blocks"]
    (text,) = (each["content"] for each in blocks if each["type"] == "markdown-block")
    assert text.startswith("# Report")
    assert "A_h1" in text
    grids = [each["metadata"] for each in blocks if each["type"] == "panel-grid"]
    assert len(grids) == 5
    assert {grid["runSets"][0]["project"] for grid in grids} == {None}  # the report's own


def test_panels_of_a_section_do_not_cover_one_another(runs: Path, nobody: list[Any]) -> None:
    main(["dashboard", str(runs)])
    written = json.loads((runs / FILE).read_text())
    sections = written["workspace"]["spec"]["section"]["panelBankConfig"]["sections"]
    for section in sections:
        places = [(each["layout"]["x"], each["layout"]["y"]) for each in section["panels"]]
        assert len(set(places)) == len(places)
        assert all(
            x + each["layout"]["w"] <= 24 for (x, _), each in zip(places, section["panels"], strict=True)
        )


def test_where_to_send_it_may_be_said_and_the_file_lie_elsewhere(
    runs: Path, nobody: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "board.json"
    assert main(["dashboard", str(runs), "--project", "p", "--entity", "team", "--out", str(out)]) == 0
    assert not (runs / FILE).exists()
    written = json.loads(out.read_text())
    assert (written["project"], written["entity"]) == ("p", "team")
    assert "--project p --entity team" in capsys.readouterr().out


def test_runs_recorded_offline_are_named_with_what_sends_them(
    runs: Path, nobody: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for number, run in enumerate(sorted(runs.glob("*/*/*-s1-*"))):
        made = run / "tracking" / "wandb" / f"offline-run-2026{number}-abc"
        made.mkdir(parents=True)
        (made / "run-abc.wandb").touch()
    (made / "run-abc.wandb.synced").touch()  # one of the two was sent before
    main(["dashboard", str(runs)])
    said = capsys.readouterr().out
    assert "sends 1 run recorded offline" in said
    (first,) = runs.glob("table3/A_h1/*-s1-*/tracking/wandb/*")
    assert f"wandb sync --yes --project mine {first}" in said


def test_without_the_extra_it_says_what_to_install(
    runs: Path, nobody: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["dashboard", str(runs)]) == 2
    assert "pip install 'xformer[dashboard]'" in capsys.readouterr().err
    assert not (runs / FILE).exists()


def test_a_folder_without_runs_and_a_place_that_cannot_be_written_are_the_users_mistakes(
    runs: Path, nobody: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert main(["dashboard", str(tmp_path / "empty")]) == 2
    assert "holds no runs" in capsys.readouterr().err
    assert main(["dashboard", str(runs), "--out", str(tmp_path / "file" / "x.json")]) == 2
    assert "cannot be written: " in capsys.readouterr().err


def sent(runs: Path, address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    login = environment(WANDB_API_KEY=KEY, WANDB_BASE_URL=address)
    ended = subprocess.run(
        words("dashboard", str(runs), *arguments), cwd=runs.parent, env=login, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert [path.name for path in runs.parent.iterdir()] == ["runs"]  # no logs of the library are left
    return ended


def test_with_a_login_report_workspace_and_offline_runs_reach_the_server(runs: Path) -> None:
    made = record(runs)
    with server() as kept:
        ended = sent(runs, kept.address)
        assert ended.returncode == 0, ended.stderr
        assert "Sent: 1 run recorded offline" in ended.stdout
        assert any(made.glob("*.synced"))
        (run,) = {each["variables"]["name"] for each in kept.asked if "UpsertBucket" in each["query"]}
        assert run in made.name
        report, workspace = kept.views()
        for view in (report, workspace):
            assert (view["entityName"], view["projectName"]) == ("somebody", "mine")
        assert (report["type"], workspace["type"]) == ("runs", "project-view")
        written = json.loads((runs / FILE).read_text())
        assert written["entity"] == "somebody"
        bank = json.loads(workspace["spec"])["section"]["panelBankConfig"]
        assert [each["name"] for each in bank["sections"]][:2] == ["Scores", "Scores against sizes"]
    assert offline_records(collect(runs)) == []  # what the server has is not sent twice


@pytest.mark.parametrize("arguments", [(), ("--entity", "team")])
def test_a_login_that_is_refused_ends_with_a_word_and_the_file(
    runs: Path, arguments: tuple[str, ...]
) -> None:
    record(runs)
    with server(refuse=True) as kept:
        ended = sent(runs, kept.address, *arguments)
    assert ended.returncode == 2
    assert "no such key" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert KEY not in ended.stderr + ended.stdout
    assert (runs / FILE).is_file() == bool(arguments)  # without an entity, where to is not known yet
