"""A search by Optuna: checked before it starts, stored, gone on with, and told at its end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.system.commands import REPOSITORY, SMALL, Command
from xformer.config.compose import plan

SEARCH = ("train", "sweeps=lr", *SMALL)


def trained(tmp_path: Path) -> int:
    return len(list(tmp_path.glob("runs/*/*/result.json")))


def test_trials_are_counted_over_all_starts_and_the_best_is_told(xformer: Command, tmp_path: Path) -> None:
    first = xformer(*SEARCH, "hydra.sweeper.n_trials=2")
    assert first.returncode == 0, first.stderr
    assert "2 runs: 2 finished" in first.stderr
    assert re.search(
        r"best of 2: dev perplexity [\d.]+ with optim\.\w+=[\d.]+ optim\.warmup_updates=\d00", first.stderr
    )
    again = xformer(*SEARCH, "hydra.sweeper.n_trials=2")
    assert again.returncode == 0, again.stderr
    assert "best of 2:" in again.stderr
    assert trained(tmp_path) == 2
    more = xformer(*SEARCH, "hydra.sweeper.n_trials=3")
    assert more.returncode == 0, more.stderr
    assert "best of 3:" in more.stderr
    assert trained(tmp_path) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]
    other = xformer(*SEARCH, "hydra.sweeper.n_trials=1", "model/position=rope")
    assert other.returncode == 0, other.stderr
    assert "best of 1:" in other.stderr, "what was found for one row says nothing of another"
    assert trained(tmp_path) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        "optim.warmup_updates=choice(100,-5)",
        "optim.learning_rate_multiplier=interval(-1,2)",
        "optim.warmpu=1",
    ],
)
def test_what_could_fail_later_is_refused_at_once(xformer: Command, tmp_path: Path, wrong: str) -> None:
    ended = xformer(*SEARCH, wrong)
    assert ended.returncode == 2
    assert wrong.partition("=")[0] in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_the_command_of_wandbs_sweep_is_one_that_trains() -> None:
    sweep = yaml.safe_load((REPOSITORY / "sweeps" / "wandb.yaml").read_text())
    words = [word for word in sweep["command"] if not word.startswith("${")]
    assert words[:2] == ["xformer", "train"]
    assert sweep["command"][-1] == "${args_no_hyphens}"

    def ends(parameter: dict[str, Any]) -> list[Any]:
        return [parameter[key] for key in ("value", "min", "max") if key in parameter] + parameter.get(
            "values", []
        )

    for key, parameter in sweep["parameters"].items():
        for value in ends(parameter):
            (job,) = plan([*words[2:], f"{key}={value}"]).jobs
            assert job.config.tracking.mode == "online"  # type: ignore[union-attr]


def test_wandbs_sweep_is_not_one_of_ours(xformer: Command) -> None:
    ended = xformer("train", "sweeps=wandb")
    assert ended.returncode == 2
    assert "wandb" in ended.stderr
