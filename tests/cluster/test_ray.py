"""A sweep on a Ray that the command itself starts, so many cores a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.commands import REPOSITORY, SMALL, Command, status_of
from tests.system.test_sick_sweep import SABOTEUR

pytestmark = pytest.mark.cluster
pytest.importorskip("ray", reason="make test-cluster installs it")


def test_the_next_run_goes_to_whatever_is_free_and_a_failing_one_harms_no_other(
    xformer: Command, tmp_path: Path
) -> None:
    own = tmp_path / "own" / "experiments" / "sick"
    own.mkdir(parents=True)
    for name in ("exit", "one", "two"):
        (own / f"{name}.yaml").write_text("# @package _global_\n")
    ended = xformer(
        "train", "-m", "--config-dir", "own", "experiments=sick/exit,sick/one,sick/two", *SMALL,
        "hydra/launcher=gpus", "hydra.launcher.ray.init.num_cpus=2", "hydra.launcher.ray.init.num_gpus=0",
        "hydra.launcher.ray.remote.num_gpus=0", PYTHONPATH=f"{SABOTEUR}:{REPOSITORY}",
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "3 runs: 1 failed, 2 finished" in ended.stderr
    for name in ("one", "two"):
        (run,) = (tmp_path / "runs" / "sick" / name).iterdir()
        assert status_of(run)["state"] == "finished"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "runs"]
