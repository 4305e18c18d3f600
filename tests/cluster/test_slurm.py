"""A sweep on a real SLURM: jobs that fail, are cancelled, requeued or lost are told for what they are."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.commands import REPOSITORY, SMALL, environment, run_in, status_of, wait_for, words
from tests.system.test_sick_sweep import SABOTEUR

SCRIPT = Path(__file__).with_name("slurm.sh")
LAUNCHER = ("hydra/launcher=slurm", "hydra.launcher.cpus_per_task=1", "hydra.launcher.timeout_min=20")
LONG = ("trainer.updates=2500", "trainer.validate_every=2500", "trainer.checkpoint_every=500")

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """The environment in which commands find a cluster of one node."""
    missing = [
        name for name in ("munged", "slurmctld", "slurmd", "sbatch", "setpriv") if not shutil.which(name)
    ]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and {' '.join(missing)}: `make test-cluster` installs Debian's packages")
    folder = Path(tempfile.mkdtemp(prefix="xformer-slurm-"))  # where munge's own user can reach its socket
    folder.chmod(0o755)
    try:
        subprocess.run([SCRIPT, "start", folder], check=True, timeout=120)
        yield environment(
            SLURM_CONF=str(folder / "slurm.conf"), PYTHONPATH=f"{SABOTEUR}:{REPOSITORY}", HOME=str(folder)
        )
    finally:
        subprocess.run([SCRIPT, "stop", folder], check=False, timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sweep(cluster: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Three rows, begun: `sick/exit`, `sick/one` and `sick/two`."""
    own = tmp_path / "own" / "experiments" / "sick"
    own.mkdir(parents=True)
    for name in ("exit", "one", "two"):
        (own / f"{name}.yaml").write_text("# @package _global_\n")
    arguments = words(
        "train",
        "-m",
        "--config-dir",
        "own",
        "experiments=sick/exit,sick/one,sick/two",
        *SMALL,
        *LONG,
        *LAUNCHER,
    )
    command = subprocess.Popen(
        arguments, cwd=tmp_path, env=cluster, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    yield command
    command.kill()
    command.communicate()
    subprocess.run(["scancel", "--user=root"], env=cluster, check=False)


def run_of(folder: Path, name: str) -> Path:
    return next(folder.glob(f"runs/sick/{name}/*"), folder)


def under_way(folder: Path, name: str, updates: int = 20) -> None:
    wait_for(lambda: status_of(run_of(folder, name)).get("updates", 0) > updates)


def job(cluster: dict[str, str], number: int) -> str:
    """The cluster's name for a job of the one sweep there is."""
    listed = subprocess.run(
        ["squeue", "--noheader", "--array", "--format=%F"],
        env=cluster,
        capture_output=True,
        text=True,
        check=True,
    )
    return f"{listed.stdout.split()[0]}_{number}"


def kill_task(number: int) -> None:
    """Kill what the cluster runs for a job, as a machine that breaks would."""
    found = subprocess.run(
        ["pgrep", "-f", "submitit.core._submit"], capture_output=True, text=True, check=True
    )
    for pid in map(int, found.stdout.split()):
        if f"SLURM_ARRAY_TASK_ID={number}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes():
            os.kill(pid, signal.SIGKILL)


def queued(cluster: dict[str, str]) -> list[str]:
    listed = subprocess.run(["squeue", "--noheader"], env=cluster, capture_output=True, text=True, check=True)
    return listed.stdout.split()


def test_failed_cancelled_and_requeued(
    cluster: dict[str, str], sweep: subprocess.Popen[str], tmp_path: Path
) -> None:
    under_way(tmp_path, "one")
    subprocess.run(["scancel", job(cluster, 1)], env=cluster, check=True)
    under_way(tmp_path, "two", 200)
    before = status_of(run_of(tmp_path, "two"))
    # What the cluster sends some time before the end of a job's time.
    subprocess.run(["scancel", "--signal=USR2", job(cluster, 2)], env=cluster, check=True)
    _, errors = sweep.communicate(timeout=400)
    assert sweep.returncode == 143, errors
    assert "3 runs: 1 failed, 1 interrupted, 1 finished" in errors
    assert "failed sick/exit" in errors
    assert "interrupted sick/one" in errors
    assert "Traceback" not in errors
    after = status_of(run_of(tmp_path, "two"))
    assert after["updates"] == 2500
    assert after["pid"] != before["pid"]
    log = (run_of(tmp_path, "two") / "log.txt").read_text()
    assert log.count("training from update 0 ") == 1
    assert log.count("training from update") == 2
    # The same command, anywhere, completes what was cancelled.
    again = run_in(tmp_path)(
        "train", "-m", "--config-dir", "own", "experiments=sick/one,sick/two", *SMALL, *LONG
    )
    assert again.returncode == 0, again.stderr
    assert "1 finished, 1 skipped" in again.stderr


def test_a_lost_job_is_noticed(cluster: dict[str, str], sweep: subprocess.Popen[str], tmp_path: Path) -> None:
    under_way(tmp_path, "one")
    kill_task(1)
    _, errors = sweep.communicate(timeout=400)
    assert sweep.returncode == 1, errors
    assert "3 runs: 2 failed, 1 finished" in errors
    assert "failed sick/one seed 1: its job was lost or cancelled" in errors


def test_ctrl_c_takes_its_jobs_out_of_the_queue(
    cluster: dict[str, str], sweep: subprocess.Popen[str], tmp_path: Path
) -> None:
    under_way(tmp_path, "one")
    sweep.send_signal(signal.SIGINT)
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 130, errors
    wait_for(lambda: not queued(cluster), seconds=60)
    assert status_of(run_of(tmp_path, "one"))["state"] == "interrupted"
