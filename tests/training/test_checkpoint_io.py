"""Writing checkpoints on disks that fill up and machines that die."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from xformer.errors import UserError
from xformer.training import checkpoints
from xformer.training.checkpoint_io import AtomicCheckpointIO
from xformer.training.checkpoints import list_checkpoints, newest_loadable, path_of, read_checkpoint


def content(update: int, numbers: int = 10) -> dict[str, Any]:
    return {
        "xformer": checkpoints.header(update, "abc"),
        "state_dict": {"model.w": torch.full((numbers,), float(update))},
    }


@contextmanager
def files_no_larger_than(limit: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = path_of(tmp_path / "new", 10)
    AtomicCheckpointIO().save_checkpoint(content(10), path)
    assert AtomicCheckpointIO().load_checkpoint(path)["state_dict"]["model.w"].tolist() == [10.0] * 10
    AtomicCheckpointIO().remove_checkpoint(path)
    assert not path.exists()


@pytest.mark.parametrize("limit", [0, 3_000, 60_000])
@pytest.mark.parametrize("update", [10, 20])  # over the one there is, and beside it
def test_a_full_disk_says_so_and_leaves_the_last_checkpoint_good(
    tmp_path: Path, limit: int, update: int
) -> None:
    writer = AtomicCheckpointIO()
    writer.save_checkpoint(content(10), path_of(tmp_path, 10))
    with files_no_larger_than(limit), pytest.raises(UserError, match=f"update-000000{update}.ckpt.* disk"):
        writer.save_checkpoint(content(update, numbers=100_000), path_of(tmp_path, update))
    assert [path.name for path in tmp_path.iterdir()] == ["update-00000010.ckpt"]
    assert read_checkpoint(path_of(tmp_path, 10))["state_dict"]["model.w"].numel() == 10


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from xformer.training import checkpoint_io

def half(content, file):
    file.write(b"x" * 5000)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)

checkpoint_io.torch.save = half
checkpoint_io.AtomicCheckpointIO().save_checkpoint({}, Path(sys.argv[1]))
"""


def test_a_kill_while_saving_leaves_the_last_checkpoint_good(tmp_path: Path) -> None:
    AtomicCheckpointIO().save_checkpoint(content(10), path_of(tmp_path, 10))
    done = subprocess.run([sys.executable, "-c", KILLED, path_of(tmp_path, 20)], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2, "the kill must come between beginning and end of the writing"
    assert list_checkpoints(tmp_path) == [path_of(tmp_path, 10)]
    assert newest_loadable(tmp_path) == path_of(tmp_path, 10)
    checkpoints.remove_unfinished(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
