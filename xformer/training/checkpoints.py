"""Checkpoint files: their names, reading them safely, the weights in them, their average.

A checkpoint holds tensors and plain values only and is read with `weights_only=True` everywhere: a file
that would run code is refused before it can (fault S23). Needs torch, not Lightning.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from xformer.errors import UserError
from xformer.files import replacing

FORMAT = 1  # raised when a change here makes older versions of xformer misread the file
HEADER = "xformer"  # the entry of a checkpoint that holds `header(...)`

_NAME = re.compile(r"update-(\d{8,})\.ckpt")
_MODEL_PREFIX = "model."  # of the weights within a TranslationModule
_COMPILE_PREFIX = "_orig_mod."  # which torch.compile puts before the names of what it wraps


class Unreadable(UserError):
    """A file that is torn, of another kind, or refused because it holds code."""


_log = logging.getLogger(__name__)


def path_of(folder: Path, update: int) -> Path:
    """Where the checkpoint of an update lies; names sort as their updates do."""
    return folder / f"update-{update:08d}.ckpt"


def update_of(path: Path) -> int:
    """The update after which a checkpoint was written, from its name."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise UserError(f"{path} is not named like a checkpoint: expected {path_of(path.parent, 1000).name}")
    return int(match[1])


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first; unfinished temporary files are none."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), key=update_of)


def last_checkpoints(folder: Path, count: int) -> list[Path]:
    """The `count` newest checkpoints by update, oldest first; raises UserError, naming all, for too few."""
    if count < 1:
        raise UserError(f"the last {count} checkpoints are none: give 1 or more")
    found = list_checkpoints(folder)
    if not found:
        raise UserError(f"{folder}: no checkpoint yet; train the run first")
    if count > len(found):
        names = ", ".join(str(update_of(path)) for path in found)
        raise UserError(
            f"{folder}: {count} checkpoints to average, there are {len(found)}: of update {names}. "
            "trainer.keep_checkpoints says how many are kept in training."
        )
    return found[-count:]


def header(update: int, tokenizer_hash: str) -> dict[str, Any]:
    """What marks a checkpoint as xformer's own."""
    return {"format": FORMAT, "update": update, "tokenizer_hash": tokenizer_hash}


def read_checkpoint(path: Path, *, mapped: bool = True) -> dict[str, Any]:
    """Read a whole checkpoint onto the CPU, running nothing that is in it.

    With `mapped`, tensors are read from the file only when they are used.
    Raises UserError for a file that is missing, torn, foreign, newer than this xformer, or holds code.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint {path}") from None
    except pickle.UnpicklingError as error:
        raise Unreadable(
            f"{path} is refused: it holds more than tensors and plain values, and loading that could run "
            "code. Only load checkpoints that xformer wrote."
        ) from error
    except Exception as error:  # what goes wrong is decided by the bytes: IndexError, AttributeError …
        raise Unreadable(
            f"{path} cannot be read as a checkpoint: it is torn or of another kind ({_first_line(error)}). "
            "Use another checkpoint of the run."
        ) from error
    if not _is_ours(content):
        raise Unreadable(f"{path} is not a checkpoint of xformer: use one from a run's checkpoints/ folder")
    found = content[HEADER]["format"]
    if found > FORMAT:
        raise UserError(f"{path} has format {found}, this xformer knows {FORMAT} at most: use a newer one")
    return dict(content)


def _is_ours(content: Any) -> bool:
    """Whether a checkpoint has a header and weights, of this format or a later one."""
    if not isinstance(content, dict):
        return False
    heading, state = content.get(HEADER), content.get("state_dict")
    if not isinstance(heading, dict) or not isinstance(heading.get("format"), int):
        return False
    if heading["format"] > FORMAT:  # of which nothing more is known
        return True
    return (
        isinstance(heading.get("update"), int)
        and isinstance(heading.get("tokenizer_hash"), str)
        and isinstance(state, dict)
        and all(isinstance(name, str) and isinstance(each, Tensor) for name, each in state.items())
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def newest_loadable(folder: Path) -> Path | None:
    """The newest checkpoint that can be read; newer ones that cannot are passed over with a logged line.

    Raises UserError for one that a newer xformer wrote: going on from an older one would overwrite it.
    """
    for path in reversed(list_checkpoints(folder)):
        try:
            read_checkpoint(path)
        except Unreadable as error:
            _log.warning("passed over: %s", error)
        else:
            return path
    return None


def write_weights(path: Path, weights: Mapping[str, Tensor], heading: Mapping[str, Any]) -> None:
    """Write a checkpoint of weights alone, under their names in a plain model, whole or not at all.

    It translates as any other, and cannot be trained on. Raises OSError where it cannot be written.
    """
    state = {_MODEL_PREFIX + name: tensor.contiguous() for name, tensor in weights.items()}
    with replacing(path) as file:
        torch.save({HEADER: dict(heading), "state_dict": state}, file)


def load_weights(path: Path) -> dict[str, Tensor]:
    """The model's weights by their names in a plain model; raises UserError as `read_checkpoint` does."""
    stored: dict[str, Tensor] = read_checkpoint(path)["state_dict"]
    return {plain_name(name).removeprefix(_MODEL_PREFIX): tensor for name, tensor in stored.items()}


def plain_name(name: str) -> str:
    """A weight's name without what compiling put into it (fault S24)."""
    return name.replace(_COMPILE_PREFIX, "")


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], origin: Path | str) -> None:
    """Copy weights into a model, compiled or not; raises UserError where names or shapes do not match."""
    places = {plain_name(name): place for name, place in model.state_dict(keep_vars=True).items()}
    missing, extra = sorted(places.keys() - weights.keys()), sorted(weights.keys() - places.keys())
    if missing or extra:
        faults = [f"lacks {name}" for name in missing] + [f"has the unknown {name}" for name in extra]
        raise UserError(
            f"{origin} does not fit the model: it {'; it '.join(faults)}. "
            "Use the configuration that wrote it."
        )
    for name, place in places.items():
        if place.shape != weights[name].shape:
            raise UserError(
                f"{origin} does not fit the model: {name} is {tuple(weights[name].shape)}, "
                f"the model's is {tuple(place.shape)}. Use the configuration that wrote it."
            )
    with torch.no_grad():
        for name, place in places.items():
            place.copy_(weights[name])


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights (section 6.1), in single precision or better.

    What is not a floating number is taken from the last. Raises UserError where names differ.
    """
    if not paths:
        raise UserError("there is no checkpoint to average")
    sums: dict[str, Tensor] = {}
    last: dict[str, Tensor] = {}
    for path in paths:
        last = load_weights(path)
        if sums and sums.keys() != last.keys():
            raise UserError(f"{path} and {paths[0]} hold different weights and have no average")
        for name, tensor in last.items():
            wide = tensor.to(torch.promote_types(tensor.dtype, torch.float32))
            sums[name] = sums[name] + wide if name in sums else wide
    return {
        name: sums[name] / len(paths) if tensor.is_floating_point() else tensor
        for name, tensor in last.items()
    }


def prune(folder: Path, *, newest: int, keep: int, every: int) -> None:
    """After writing the checkpoint of update `newest`, leave the `keep` newest, that one included.

    Older ones that lie off the regular grid come from interruptions: they go at once, so that an average
    of the last N is the same for a run that was never interrupted. Files newer than `newest` could not be
    read when the run went on from before them; they are overwritten in their turn.
    """
    written = [path for path in list_checkpoints(folder) if update_of(path) <= newest]
    regular = [path for path in written if update_of(path) % every == 0 or update_of(path) == newest]
    for path in set(written) - set(regular[-keep:]):
        path.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process left of checkpoints that it had not finished writing."""
    for path in folder.glob(".update-*.partial"):
        with contextlib.suppress(OSError):
            path.unlink()
