"""How runs stand."""

from __future__ import annotations

import io
import json
import socket
from pathlib import Path

import pytest
from rich.console import Console

from tests.study.folders import write_failed, write_run
from xformer.cli import main
from xformer.errors import UserError
from xformer.study.collect import collect
from xformer.study.status import print_status, status_table


def shown(root: Path, width: int = 160, now: float = 10_000.0) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(status_table(collect(root), now))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def line(text: str, word: str) -> list[str]:
    (found,) = (line for line in text.splitlines() if word in line)
    return [cell.strip() for cell in found.split("│")]


def test_a_running_run_shows_progress_and_its_last_sign_of_life(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path, state="running", updates=1200, updates_planned=6000, started=100.0, updated=9_820.0
    )
    row = line(shown(tmp_path), "running")
    assert row == [f"table3/base/{folder.name}", "running", "1,200/6,000", "3 min ago", ""]


def test_a_dead_process_of_this_host_is_lost(tmp_path: Path) -> None:
    write_run(tmp_path, state="running", host=socket.gethostname(), pid=1)
    assert line(shown(tmp_path), "lost")[-1] == "the process that ran it is no longer there"


def test_failed_diverged_and_unreadable_runs_give_their_reason(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/big", state="failed", reason="out of [bold]memory")
    write_run(tmp_path, "table3/A_h1", state="diverged", reason="loss is nan", ended=9_999.0)
    (write_run(tmp_path, "table3/A_h4") / "result.json").write_text("{")
    write_failed(tmp_path, "modern/rope", reason="no such file")
    text = shown(tmp_path)
    assert line(text, "table3/big")[-1] == "out of [bold]memory"
    assert line(text, "table3/A_h1")[3:] == ["1 s ago", "loss is nan"]
    assert "result.json: Invalid JSON" in line(text, "unreadable")[-1]
    assert line(text, "modern/rope") == ["modern/rope", "failed", "–", "–", "no such file"]


def test_every_line_fits_a_narrow_terminal_and_state_is_never_cut(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/E_learned", state="interrupted", reason="a long reason " * 10)
    text = shown(tmp_path, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "interrupted" in text


def test_a_pipe_gets_whole_names_one_line_a_run(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path, "pitfalls/postnorm_nowarmup", state="interrupted", reason="a long reason " * 10
    )
    console = Console(file=io.StringIO(), width=80)
    print_status(collect(tmp_path), tmp_path, console)
    assert isinstance(console.file, io.StringIO)
    assert line(console.file.getvalue(), folder.name)[0] == f"pitfalls/postnorm_nowarmup/{folder.name}"


def test_a_script_gets_every_run_as_plain_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running = write_run(
        tmp_path, state="running", updates=1200, updates_planned=6000, started=100.0, updated=9_820.0
    )
    write_failed(tmp_path, "modern/rope", reason="no such file")
    assert main(["status", str(tmp_path), "--json"]) == 0
    found = {each["experiment"]: each for each in json.loads(capsys.readouterr().out)}
    assert set(found["table3/base"]) == set(found["modern/rope"])
    assert found["table3/base"]["folder"] == str(running)
    assert (found["table3/base"]["updates"], found["table3/base"]["updates_planned"]) == (1200, 6000)
    assert (found["modern/rope"]["state"], found["modern/rope"]["reason"]) == ("failed", "no such file")
    assert found["modern/rope"]["updates"] is None


def test_a_folder_without_runs_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no runs"):
        print_status(collect(tmp_path), tmp_path, Console())
