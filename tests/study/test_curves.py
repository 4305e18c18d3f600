"""Learning curves are read whatever state their file is in."""

from __future__ import annotations

import math
from pathlib import Path

from xformer.study.curves import read_curve

HEAD = "update,tokens,epoch,loss,nll,learning_rate,gradient_norm,tokens_per_second,dev_perplexity,dev_bleu\n"


def write(folder: Path, *lines: str) -> Path:
    (folder / "metrics.csv").write_text(HEAD + "\n".join(lines))
    return folder


def test_training_and_dev_are_in_the_same_unit(tmp_path: Path) -> None:
    (point,) = read_curve(write(tmp_path, "50,2900,0.1,6.6,6.5,0.1,1.2,8000,20.0,3.1"))
    assert (point.update, point.tokens, point.trained) == (50, 2900, 6.5)
    assert point.dev == math.log(20)


def test_a_perplexity_of_one_is_a_dev_score_and_never_thinned_out(tmp_path: Path) -> None:
    lines = [f"{n},{n},0,1,1,1,1,1,{'1.0' if n == 7 else ''}," for n in range(1, 1001)]
    (point,) = (point for point in read_curve(write(tmp_path, *lines), at_most=20) if point.dev is not None)
    assert (point.update, point.dev) == (7, 0)


def test_lines_without_numbers_are_passed_over(tmp_path: Path) -> None:
    lines = ["50,2900,0.1,6.6,nan,0.1,1,8,,", "x,1,,,1", "100,5800,0.2,6,5.5,1,1,1,,", "150,7"]
    assert [point.update for point in read_curve(write(tmp_path, *lines))] == [100]


def test_no_file_is_no_curve(tmp_path: Path) -> None:
    assert read_curve(tmp_path) == ()
    (tmp_path / "metrics.csv").write_bytes(b"\xff\x00\xfe")
    assert read_curve(tmp_path) == ()


def test_long_curves_are_thinned_but_keep_their_end_and_every_dev_score(tmp_path: Path) -> None:
    lines = [f"{n},{n},0,1,1,1,1,1,{'5' if n in (7, 11) else ''}," for n in range(1, 1001)]
    points = read_curve(write(tmp_path, *lines), at_most=20)
    updates = [point.update for point in points]
    assert len(points) <= 23
    assert updates == sorted(set(updates))
    assert {1, 7, 11, 1000} <= set(updates)
