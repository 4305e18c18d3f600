"""The options of each command, and what their values may be; those that several share come last."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def train(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer train`."""
    parser.add_argument("-m", "--multirun", action="store_true", help="one run for each combination of a,b,c")
    parser.add_argument("-c", "--cfg", choices=["job"], help="print the configuration and train nothing")
    parser.add_argument(
        "--dry-run", action="store_true", help="print each run, its folder and what it lacks; train nothing"
    )
    _add_overrides(parser)


def inspect(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer inspect`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--diff", nargs=2, metavar=("A", "B"), help="two experiments, such as table3/base table3/big"
    )
    _add_overrides(parser)


def data(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer data`."""
    _add_overrides(parser)


def evaluate(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer evaluate`."""
    _add_run(parser)
    parser.add_argument(
        "--split", action="append", metavar="NAME", help="split to score (test); may be given again"
    )
    parser.add_argument("--input", type=Path, metavar="FILE", help="score this text instead, plain or .gz")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="what --input should become")
    parser.add_argument(
        "--testset", metavar="NAME", help="score one of sacrebleu's test sets instead, such as wmt14"
    )
    parser.add_argument("--langpair", metavar="PAIR", help="languages of --testset, such as en-de")
    parser.add_argument(
        "--join", type=int, metavar="N", default=1, help="make one long sentence of every N lines"
    )
    parser.add_argument(
        "--metric", action="append", choices=["comet", "tokenised_bleu"],
        help="score by this too (docs/decoding.md); may be given again",
    )  # fmt: skip
    _add_decoding(parser)


def translate(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer translate`."""
    _add_run(parser)
    parser.add_argument("--input", type=Path, metavar="FILE", help="plain or .gz; standard input if left out")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="plain or .gz; standard output if left out"
    )
    parser.add_argument(
        "--nbest", type=int, metavar="N", default=1, help="N lines for each, its number in front"
    )
    parser.add_argument("--scores", action="store_true", help="score and log-probability in front")
    parser.add_argument("--attention", action="store_true", help="source token of each token, i-j, behind")
    _add_decoding(parser)
    parser.add_argument("--sample", action="store_true", help="draw tokens instead of searching")
    parser.add_argument("--temperature", type=float, metavar="T", help="of --sample (1)")
    parser.add_argument("--top-p", type=float, metavar="P", help="share of probability to draw from (1)")
    parser.add_argument("--seed", type=int, metavar="N", help="of --sample (1)")


def average(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer average`."""
    _add_run(parser)
    parser.add_argument("--last", type=int, metavar="N", required=True, help="checkpoints to average")
    parser.add_argument("--out", type=Path, metavar="DIR", help="RUN-averageN if left out")
    _add_threads(parser)


def attend(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer attend`."""
    _add_run(parser)
    parser.add_argument("--source", required=True, metavar="TEXT", help="one sentence")
    parser.add_argument("--target", metavar="TEXT", help="the run's own translation if left out")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".html .png .pdf .svg .json or .npz"
    )
    parser.add_argument("--average", type=int, metavar="N", help="average the last N checkpoints")
    parser.add_argument(
        "--kind", choices=["encoder", "decoder", "cross", "joint"],
        help="only these; joint is that of a model with a single stack",
    )  # fmt: skip
    parser.add_argument("--layer", type=int, metavar="N", help="only this layer, counted from 1")
    parser.add_argument("--head", type=int, metavar="N", help="only this head, counted from 1")


def export(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer export`."""
    _add_run(parser)
    parser.add_argument(
        "--to", required=True, choices=["safetensors", "marian", "ctranslate2"], help="format"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--average", type=int, metavar="N", help="average the last N checkpoints")


def import_(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer import`."""
    parser.add_argument(
        "model", type=Path, metavar="DIR", help="folder with config.json and model.safetensors"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="run folder to write")


def record(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer record`."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder that holds the runs")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the files")


def compare(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer compare`."""
    parser.add_argument("left", type=Path, metavar="RUN_A", help="run folder")
    parser.add_argument("right", type=Path, metavar="RUN_B", help="run folder")
    parser.add_argument("--split", default="test", metavar="NAME", help="split to compare on (test)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def status(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer status`."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path("runs"))
    parser.add_argument("--json", action="store_true", help="print one JSON array, an object for each run")


def report(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer report`."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path("runs"))
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the page, Markdown, LaTeX, CSV and pictures"
    )
    parser.add_argument(
        "--claims", type=Path, metavar="FILE", help="judge these claims, not the built-in ones"
    )
    parser.add_argument(
        "--records", type=Path, metavar="DIR", help="records that join the runs, such as a sweep's done_dir"
    )
    parser.add_argument(
        "--base",
        metavar="ROW",
        help="compare all rows with this one, such as modern/llama, not with table3/base",
    )


def dashboard(parser: argparse.ArgumentParser) -> None:
    """Those of `xformer dashboard`."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", nargs="?", default=Path("runs"))
    parser.add_argument("--project", metavar="NAME", help="that of the runs, or xformer, if left out")
    parser.add_argument("--entity", metavar="NAME", help="team or user; the login's own if left out")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="specification to write (FOLDER/dashboard.json)"
    )


def _add_overrides(parser: argparse.ArgumentParser) -> None:
    """Words of a configuration, and where they are looked up."""
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="choice of a group or value of a key (conf/train.yaml lists them all)",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="folder of your own with experiments/, sweeps/ or groups such as data/",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    """A trained run."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="run folder")


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    """Settings that take the place of the run's own."""
    parser.add_argument("--beam", type=int, metavar="N", help="hypotheses side by side; 1 is greedy")
    parser.add_argument("--alpha", type=float, metavar="A", help="exponent of the length penalty")
    parser.add_argument(
        "--extra-length", type=int, metavar="N", help="tokens the output may exceed the input by"
    )
    parser.add_argument("--min-length", type=int, metavar="N", help="tokens the output has at least")
    parser.add_argument("--max-length", type=int, metavar="N", help="tokens the output has at most; 0: any")
    parser.add_argument("--average", type=int, metavar="N", help="average the last N checkpoints")
    _add_threads(parser)


def _add_threads(parser: argparse.ArgumentParser) -> None:
    """How many cores to use."""
    parser.add_argument(
        "--threads",
        type=_whole(0, 1024),
        metavar="N",
        default=0,
        help="threads on a CPU; 0: PyTorch's choice",
    )


def _whole(least: int, most: int) -> Callable[[str], int]:
    """A type of option: a whole number in a range, and outside it one line that says so."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:  # argparse's own words name the type, which is a function here
            raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, not {value}")
        return value

    return read
