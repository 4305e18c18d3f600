"""Named tensors in a safetensors file: nothing in it runs when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from xformer.errors import UserError
from xformer.files import write_atomic


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write the tensors, each with memory of its own. Raises OSError where that cannot be done."""
    own = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomic(path, save(own, metadata={"format": "pt"}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read them onto the CPU; raises UserError for a file that is missing, torn or of another kind."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as safetensors: {error}") from None
