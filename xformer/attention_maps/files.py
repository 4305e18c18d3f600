"""Which file ending writes what; nothing heavy is loaded before something is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from xformer.errors import UserError
from xformer.files import write_atomic, written

if TYPE_CHECKING:
    from xformer.attention_maps.maps import AttentionMaps

Render = Callable[["AttentionMaps"], bytes]


def _page(maps: AttentionMaps) -> bytes:
    from xformer.attention_maps.page import page

    return page(maps)


def _image(image_format: str) -> Render:
    def render(maps: AttentionMaps) -> bytes:
        from xformer.attention_maps.figure import image

        return image(maps, image_format)

    return render


def _json(maps: AttentionMaps) -> bytes:
    from xformer.attention_maps.values import as_json

    return as_json(maps)


def _npz(maps: AttentionMaps) -> bytes:
    from xformer.attention_maps.values import as_npz

    return as_npz(maps)


RENDERERS: dict[str, Render] = {
    ".html": _page,
    ".png": _image("png"),
    ".pdf": _image("pdf"),
    ".svg": _image("svg"),
    ".json": _json,
    ".npz": _npz,
}


def check_path(path: Path) -> None:
    """Refuse early what could not be written later. Raises UserError for an unknown ending or no folder."""
    if path.is_dir():
        raise UserError(f"--out {path}: is a folder; name a file in it")
    if path.suffix.lower() not in RENDERERS:
        wrong = f"the ending {path.suffix} says no known format" if path.suffix else "has no ending"
        raise UserError(f"--out {path}: {wrong}; use one of {' '.join(RENDERERS)}")
    if not path.parent.is_dir():
        raise UserError(f"--out {path}: there is no folder {path.parent}; make it first")


def write_maps(maps: AttentionMaps, path: Path) -> None:
    """Write the maps in the format that the ending of `path` asks for, as a whole or not at all.

    Raises UserError where `check_path` does, and where the file cannot be written.
    """
    check_path(path)
    data = RENDERERS[path.suffix.lower()](maps)
    with written(path):
        write_atomic(path, data)
