"""Options that several commands share, and what their values may be."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def add_overrides(parser: argparse.ArgumentParser) -> None:
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


def add_run(parser: argparse.ArgumentParser) -> None:
    """A trained run."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="run folder")


def add_decoding(parser: argparse.ArgumentParser) -> None:
    """Settings that take the place of the run's own."""
    parser.add_argument("--beam", type=int, metavar="N", help="hypotheses side by side; 1 is greedy")
    parser.add_argument("--alpha", type=float, metavar="A", help="exponent of the length penalty")
    parser.add_argument(
        "--extra-length", type=int, metavar="N", help="tokens the output may exceed the input by"
    )
    parser.add_argument("--min-length", type=int, metavar="N", help="tokens the output has at least")
    parser.add_argument("--max-length", type=int, metavar="N", help="tokens the output has at most; 0: any")
    parser.add_argument("--average", type=int, metavar="N", help="average the last N checkpoints")
    add_threads(parser)


def add_threads(parser: argparse.ArgumentParser) -> None:
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
