"""Bad input gets one clear message and exit code 2, at once, with nothing left behind."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from tests.system.commands import SMALL, Command
from xformer import cli

FILES = ("data=files", "data.dir=corpus", "data.source=a", "data.target=b")


def assert_refused(command: Command, folder: Path, *arguments: str, message: str, code: int = 2) -> None:
    ended = command(*arguments)
    assert ended.returncode == code, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Set the environment variable HYDRA_FULL_ERROR" not in ended.stderr
    assert not list(folder.glob("runs/**/config.yaml"))
    assert not list(folder.glob("runs/**/status.json"))
    assert not (folder / "outputs").exists()
    assert not (folder / "multirun").exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.hedas=3", "model.hedas: no such key; did you mean model.heads?"),
        ("+modle.heads=4", "modle: no such key; did you mean model?"),
        ("++model.hedas=4", "model.hedas: no such key; did you mean model.heads?"),
        ("model.dropout=nan", "model.dropout: must be a finite number, not nan"),
        ("model.d_model=abc", "model.d_model: must be a whole number, not 'abc'"),
        ("scale=medium", "scale=medium: no such choice"),
        ("experiments=table3/A_h3", "experiments=table3/A_h3: no such choice"),
        ("decode.alpha=???", "decode.alpha: is missing"),
        ("decode.beam=${decode.bean}", "decode.beam: Interpolation key 'decode.bean' not found"),
    ],
)
def test_a_configuration_error_answers_within_two_seconds(
    xformer: Command, tmp_path: Path, override: str, message: str
) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert_refused(xformer, tmp_path, "train", override, message=message)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time, since other tests may run beside this one.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2.0
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["train", "model.hedas=3"], ["--version"]]
)
def test_help_and_errors_load_neither_torch_nor_lightning(xformer: Command, arguments: list[str]) -> None:
    ended = xformer(*arguments, PYTHONPROFILEIMPORTTIME="1")
    modules = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if "import time" in line}
    assert "xformer.errors" in modules
    assert not {name.split(".")[0] for name in modules} & {"torch", "lightning", "wandb"}


def test_a_sweep_with_an_error_in_its_last_job_starts_nothing(xformer: Command, tmp_path: Path) -> None:
    seeds = "seed=1,2,3,4,5,6,7,8,9,-1"
    assert_refused(
        xformer, tmp_path, "train", "-m", *SMALL, seeds, message="seed: must be greater than or equal"
    )
    assert not (tmp_path / "runs").exists()


def corpus(folder: Path, **files: str) -> None:
    folder.joinpath("corpus").mkdir()
    for name, text in files.items():
        (folder / "corpus" / name.replace("_", ".")).write_text(text)


PAIRS = "".join(f"word{i} word{i + 1}\n" for i in range(30))


def test_a_missing_file_is_named(xformer: Command, tmp_path: Path) -> None:
    corpus(tmp_path, train_a=PAIRS, train_b=PAIRS, valid_a=PAIRS, valid_b=PAIRS, test_a=PAIRS)
    assert_refused(xformer, tmp_path, "train", *FILES, message="test.b")


def test_unequal_line_counts_are_both_told(xformer: Command, tmp_path: Path) -> None:
    corpus(
        tmp_path,
        train_a=PAIRS,
        train_b=PAIRS + "more\n",
        valid_a="x\n",
        valid_b="x\n",
        test_a="x\n",
        test_b="x\n",
    )
    assert_refused(xformer, tmp_path, "train", *FILES, message="31")
    assert "30" in xformer("train", *FILES).stderr


def test_an_empty_corpus_is_refused(xformer: Command, tmp_path: Path) -> None:
    corpus(tmp_path, train_a="", train_b="", valid_a="x\n", valid_b="x\n", test_a="x\n", test_b="x\n")
    assert_refused(xformer, tmp_path, "train", *FILES, message="train.a")


def test_a_vocabulary_that_the_text_cannot_fill_is_refused_with_the_size_it_reached(
    xformer: Command, tmp_path: Path
) -> None:
    corpus(
        tmp_path, train_a="a b\n", train_b="a b\n", valid_a="x\n", valid_b="x\n", test_a="x\n", test_b="x\n"
    )
    assert_refused(xformer, tmp_path, "train", *FILES, "tokenizer.vocabulary=5000", message="5000")


def test_an_unknown_option_or_command_is_refused(xformer: Command, tmp_path: Path) -> None:
    assert_refused(xformer, tmp_path, "train", "--fast", message="--fast")
    assert_refused(xformer, tmp_path, "trian", message="trian")


@pytest.mark.parametrize("command", [("evaluate",), ("translate",), ("average", "--last=2")])
@pytest.mark.parametrize("threads", ["-1", "99999999999999999999", "two"])
def test_a_number_of_threads_that_is_none_is_refused_in_one_line(
    command: tuple[str, ...], threads: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([*command, "RUN", f"--threads={threads}"])
    *_, last = capsys.readouterr().err.splitlines()
    assert "argument --threads: must be a whole number" in last
    assert threads in last


@pytest.mark.parametrize("command", ["evaluate", "translate", "status", "report"])
def test_a_folder_that_is_no_run_is_refused(xformer: Command, tmp_path: Path, command: str) -> None:
    assert_refused(xformer, tmp_path, command, "nowhere", message="nowhere")


def test_an_unwritable_runs_folder_is_named(xformer: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = xformer("train", *SMALL, "runs_dir=file/runs")
    assert ended.returncode in (1, 2)
    assert "file/runs" in ended.stderr
    assert "Traceback" not in ended.stderr
