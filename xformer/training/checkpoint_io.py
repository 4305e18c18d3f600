"""How Lightning writes and reads checkpoints here: whole or not at all, and never running code (S23, S25)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.checkpoint_io import CheckpointIO

from xformer.errors import UserError
from xformer.files import replacing
from xformer.training.checkpoints import read_checkpoint


class AtomicCheckpointIO(CheckpointIO):
    """Writes beside the file and renames; reads tensors and plain values only."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Replace `path` as a whole; raises UserError, with what was there before intact, on a full disk."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                torch.save(checkpoint, file)
        except (OSError, RuntimeError) as error:  # torch wraps some of what the disk says in RuntimeError
            raise UserError(
                f"the checkpoint {path} could not be written to disk ({error}). Make space there, or the "
                "folder writable, and give the same command again: the run goes on from its last checkpoint."
            ) from error

    def load_checkpoint(
        self, path: str | Path, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint onto the CPU; `weights_only` is always true here."""
        return read_checkpoint(Path(path), mapped=False)

    def remove_checkpoint(self, path: str | Path) -> None:
        Path(path).unlink(missing_ok=True)
