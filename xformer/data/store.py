"""Encoded sentence pairs: flat arrays of ids, memory-mapped, so that size on disk is no matter.

A folder holds, for each side, `ids` (all sentences end to end, 2 or 4 bytes an id) and `offsets`
(where each begins), and a header with their digests, by which a torn or altered store is found out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from xformer.data import seen
from xformer.data.cache import file_digest
from xformer.files import read_json, write_json

Ids = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Pair = tuple[Sequence[int], Sequence[int]]

FORMAT = 1  # raised when the files' meaning changes
_HEADER = "header.json"
_ARRAYS = ("source.ids", "source.offsets", "target.ids", "target.offsets")


@dataclass(frozen=True)
class Sentences:
    """One side: sentence i is `ids[offsets[i]:offsets[i + 1]]`, without BOS or EOS."""

    ids: Ids
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Ids:
        if not 0 <= i < len(self):
            raise IndexError(f"sentence {i} of {len(self)}")
        return self.ids[self.offsets[i] : self.offsets[i + 1]]

    @cached_property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Tokens of each sentence, its EOS counted."""
        return (np.diff(self.offsets) + 1).astype(np.int32)


class ParallelStore:
    """Sentence pairs as ids; i counts the pairs that were kept."""

    def __init__(self, source: Sentences, target: Sentences) -> None:
        if len(source) != len(target):
            raise ValueError(f"{len(source)} sources, {len(target)} targets")
        self._source, self._target = source, target

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pair], vocabulary: int) -> ParallelStore:
        """Hold `pairs` in memory."""
        sides = list(zip(*pairs, strict=True)) or [(), ()]
        source, target = (_sentences(side, vocabulary) for side in sides)
        return cls(source, target)

    def __len__(self) -> int:
        return len(self._source)

    def source(self, i: int) -> Ids:
        """Ids of source sentence i, without EOS."""
        return self._source[i]

    def target(self, i: int) -> Ids:
        """Ids of target sentence i, without BOS or EOS."""
        return self._target[i]

    @property
    def source_lengths(self) -> npt.NDArray[np.int32]:
        """Tokens of each source sentence, its EOS counted."""
        return self._source.lengths

    @property
    def target_lengths(self) -> npt.NDArray[np.int32]:
        """Tokens of each target sentence, its EOS counted."""
        return self._target.lengths


def write_store(
    folder: Path, batches: Iterable[Sequence[Pair]], vocabulary: int, notes: dict[str, Any]
) -> None:
    """Write pairs into the existing `folder` as they come, then `notes`, which `read_notes` gives back."""
    dtype = _dtype(vocabulary)
    with (
        (folder / "source.ids").open("wb") as source_ids,
        (folder / "source.offsets").open("wb") as source_offsets,
        (folder / "target.ids").open("wb") as target_ids,
        (folder / "target.offsets").open("wb") as target_offsets,
    ):
        source = _Writer(source_ids, source_offsets, dtype)
        target = _Writer(target_ids, target_offsets, dtype)
        for batch in batches:
            source.write([pair[0] for pair in batch])
            target.write([pair[1] for pair in batch])
        for file in (source_ids, source_offsets, target_ids, target_offsets):
            file.flush()
            os.fsync(file.fileno())
    digests = {name: file_digest(folder / name) for name in _ARRAYS}
    write_json(folder / _HEADER, {"format": FORMAT, "dtype": dtype.name, "digests": digests, "notes": notes})


def is_intact(folder: Path, memory: Path) -> bool:
    """Whether the folder holds a whole store, every byte as it was written.

    That it does is remembered in the folder `memory` (`data/seen.py`): reading all of it can take seconds.
    """
    try:
        header = read_json(folder / _HEADER)
        return header["format"] == FORMAT and all(
            seen.once(file_digest, folder / name, memory) == header["digests"][name] for name in _ARRAYS
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_store(folder: Path) -> ParallelStore:
    """Map the arrays of a store found intact."""
    dtype = np.dtype(read_json(folder / _HEADER)["dtype"])
    source, target = (
        Sentences(_map(folder / f"{side}.ids", dtype), _map(folder / f"{side}.offsets", np.dtype(np.int64)))
        for side in ("source", "target")
    )
    return ParallelStore(source, target)


def read_notes(folder: Path) -> dict[str, Any]:
    """What `write_store` was given to note."""
    notes: dict[str, Any] = read_json(folder / _HEADER)["notes"]
    return notes


class _Writer:
    """Appends sentences to the two files of one side."""

    def __init__(self, ids: IO[bytes], offsets: IO[bytes], dtype: np.dtype[Any]) -> None:
        self._ids, self._offsets, self._dtype = ids, offsets, dtype
        self._end = 0
        self._offsets.write(np.zeros(1, np.int64).tobytes())

    def write(self, sentences: Sequence[Sequence[int]]) -> None:
        if not sentences:
            return
        ends = self._end + np.cumsum([len(each) for each in sentences], dtype=np.int64)
        self._ids.write(np.fromiter(chain.from_iterable(sentences), self._dtype).tobytes())
        self._offsets.write(ends.tobytes())
        self._end = int(ends[-1])


def _sentences(sentences: Sequence[Sequence[int]], vocabulary: int) -> Sentences:
    offsets = np.cumsum([0, *(len(each) for each in sentences)], dtype=np.int64)
    return Sentences(np.fromiter(chain.from_iterable(sentences), _dtype(vocabulary)), offsets)


def _dtype(vocabulary: int) -> np.dtype[Any]:
    return np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.uint32)


def _map(path: Path, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if path.stat().st_size == 0:  # which cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))  # a plain view: its slices cost a third
