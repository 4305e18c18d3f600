"""`xformer translate` as a filter: in pipes, interrupted, with columns."""

from __future__ import annotations

import gzip
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from tests.system.commands import environment, words
from xformer import cli
from xformer.data.corpus import read_lines

Begin = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def sources(trained: Path) -> list[str]:
    (path,) = trained.parents[2].glob(".cache/corpora/*/test.qma")
    return read_lines(path)


@pytest.fixture
def begin(trained: Path, tmp_path: Path) -> Any:
    """Starts `xformer translate` on pipes and goes on."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = subprocess.Popen(
            words("translate", str(trained), *arguments), cwd=tmp_path, env=environment(), bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(command)
        return command

    yield start
    for command in started:
        command.kill()
        command.communicate()


def piped(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_a_line_comes_out_before_the_next_goes_in(begin: Begin, sources: list[str], trained: Path) -> None:
    expected = read_lines(trained / "hypotheses" / "test.txt")
    command = begin()
    for source, hypothesis in zip(sources[:3], expected, strict=False):
        piped(command.stdin).write(f"{source}\n".encode())
        assert piped(command.stdout).readline().decode() == f"{hypothesis}\n"
    out, error = command.communicate()
    assert (command.returncode, out, error) == (0, b"", b"")


def test_an_interruption_ends_it_with_130_and_one_word(begin: Begin) -> None:
    command = begin()
    piped(command.stdin).write(b"x\n")
    assert piped(command.stdout).readline()
    command.send_signal(signal.SIGINT)
    _, error = command.communicate(timeout=60)
    assert command.returncode == 130
    assert error == b"xformer: interrupted\n"


def test_a_reader_that_has_gone_ends_it_in_silence(begin: Begin, sources: list[str]) -> None:
    command = begin()
    piped(command.stdin).write(b"x\n")
    assert piped(command.stdout).readline()
    piped(command.stdout).close()
    piped(command.stdin).write(text(sources).encode())
    assert command.wait(60) == 141
    assert piped(command.stderr).read() == b""


def test_bad_utf_8_is_one_clear_error(begin: Begin) -> None:
    command = begin()
    _, error = command.communicate(b"\xff\n")
    assert command.returncode == 2
    assert b"standard input, line 1: not UTF-8" in error
    assert b"Traceback" not in error


def translated(capfd: pytest.CaptureFixture[str], run: Path, lines: list[str], *arguments: str) -> str:
    """What the command writes to standard output for these lines, in this process."""
    Path("lines").write_text(text(lines))
    assert cli.main(["translate", str(run), "--input", "lines", *arguments]) == 0
    out, error = capfd.readouterr()
    assert error == ""  # no progress where there is no terminal
    return out


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    "how", [["--beam", "1"], ["--beam", "4"], ["--sample", "--seed", "5", "--top-p", "0.9"]]
)
def test_order_and_company_change_neither_translations_nor_scores(
    trained: Path, sources: list[str], capfd: pytest.CaptureFixture[str], how: list[str]
) -> None:
    order = random.Random(1).sample(range(len(sources)), len(sources))
    there = translated(capfd, trained, sources, "--scores", *how)
    other = translated(capfd, trained, [sources[i] for i in order], "--scores", *how)
    found = [line.split("\t") for line in there.splitlines()]
    for i, line in zip(order, other.splitlines(), strict=True):
        score, log_probability, translation = line.split("\t")
        assert translation == found[i][2]
        assert float(score) == pytest.approx(float(found[i][0]), abs=1e-4)
        assert float(log_probability) == pytest.approx(float(found[i][1]), abs=1e-4)


@pytest.mark.usefixtures("_here")
def test_columns_are_number_score_log_probability_text_and_alignment(
    trained: Path, sources: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [sources[0], "", sources[1]]
    out = translated(capfd, trained, lines, "--nbest", "3", "--scores", "--attention")
    rows = [line.split("\t") for line in out.split("\n")[:-1]]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    assert rows[3] == ["2", "0.000000", "0.000000", "", ""]
    best = read_lines(trained / "hypotheses" / "test.txt")
    assert [rows[0][3], rows[4][3]] == best[:2]
    for row in rows[:3] + rows[4:]:
        assert float(row[2]) < float(row[1]) < 0
        targets = [int(pair.split("-")[1]) for pair in row[4].split()]
        assert targets == list(range(len(targets)))
    scores = [float(row[1]) for row in rows[:3]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.usefixtures("_here")
def test_a_run_may_lie_in_a_folder_of_any_name(
    trained: Path, sources: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    moved = shutil.copytree(trained, Path("a = b, 50% {c} 'd'") / trained.name)
    best = read_lines(trained / "hypotheses" / "test.txt")
    assert translated(capfd, moved, sources[:3]).split("\n")[:-1] == best[:3]


@pytest.mark.usefixtures("_here")
def test_compressed_files_go_in_and_out(trained: Path, sources: list[str]) -> None:
    Path("in.gz").write_bytes(gzip.compress(text(sources).encode()))
    assert cli.main(["translate", str(trained), "--input", "in.gz", "--output", "out.gz"]) == 0
    assert read_lines(Path("out.gz")) == read_lines(trained / "hypotheses" / "test.txt")


@pytest.mark.usefixtures("_here")
def test_a_length_asked_for_is_kept(
    trained: Path, sources: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    lengths = ["--min-length", "60", "--max-length", "60"]
    for line in translated(capfd, trained, sources[:2], "--attention", *lengths).splitlines():
        assert len(line.split("\t")[1].split()) == 60


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--temperature", "2"], "--temperature can do nothing without --sample"),
        (["--sample", "--beam", "2"], "--beam and --sample"),
        (["--sample", "--temperature", "0"], "temperature of 0.0"),
        (["--nbest", "5"], "5 best hypotheses from a beam of 4"),
        (["--beam", "0"], "--beam 0: must be greater than or equal to 1"),
        (["--alpha", "1e308"], "--alpha 1e+308: must be less than or equal to 10"),
        (["--extra-length", str(10**20)], "must be less than or equal to 1000000"),
        (["--min-length", str(10**20)], "must be less than or equal to 1000000"),
        (["--max-length", str(10**20)], "must be less than or equal to 1000000"),
        (["--min-length", "9", "--max-length", "3"], "minimum length of 9"),
        (["--input", "nowhere"], "nowhere"),
        (["--output", "nowhere/x"], "nowhere/x: cannot be written"),
    ],
)
def test_what_makes_no_sense_is_refused(
    trained: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("lines").write_text("x\n")
    assert cli.main(["translate", str(trained), "--input", "lines", *arguments]) == 2
    assert message in capfd.readouterr().err
