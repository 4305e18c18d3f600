"""Padded rectangles of ids, the form in which sentences reach the model.

Shapes: B batch, S source length, T target length, both with the EOS or BOS counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xformer.data.plan import Indices
from xformer.data.store import Ids, ParallelStore
from xformer.data.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Batch:
    """Sentence pairs side by side, padded at the right."""

    source_BS: Tensor  # ids, EOS, PAD …
    source_mask_BS: Tensor  # True where a real token stands
    target_in_BT: Tensor  # BOS, ids, PAD …
    target_out_BT: Tensor  # ids, EOS, PAD …
    source_tokens: int  # real ones, EOS counted; plain numbers, so that no device has to be asked
    target_tokens: int

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """The same batch on `device`."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """The same batch in page-locked memory, from which copies to a GPU need not be waited for."""
        return self._map(Tensor.pin_memory)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return dataclasses.replace(
            self,
            source_BS=change(self.source_BS),
            source_mask_BS=change(self.source_mask_BS),
            target_in_BT=change(self.target_in_BT),
            target_out_BT=change(self.target_out_BT),
        )


def collate(store: ParallelStore, indices: Indices | Sequence[int]) -> Batch:
    """The sentences `indices` of `store` as one batch, in that order."""
    sources = _Rows([store.source(i) for i in indices])
    targets = _Rows([store.target(i) for i in indices])
    return Batch(
        source_BS=torch.from_numpy(sources.with_eos()),
        source_mask_BS=torch.from_numpy(sources.mask()),
        target_in_BT=torch.from_numpy(targets.with_bos()),
        target_out_BT=torch.from_numpy(targets.with_eos()),
        source_tokens=int(sources.lengths.sum()),
        target_tokens=int(targets.lengths.sum()),
    )


class _Rows:
    """Sentences of one side on their way into a rectangle."""

    def __init__(self, sentences: Sequence[Ids]) -> None:
        self._ids = np.concatenate(sentences)
        self.lengths = np.array([len(ids) + 1 for ids in sentences])
        self._width = int(self.lengths.max())
        self._inner = np.arange(self._width - 1) < self.lengths[:, None] - 1

    def mask(self) -> npt.NDArray[np.bool_]:
        return np.arange(self._width) < self.lengths[:, None]

    def with_eos(self) -> npt.NDArray[np.int64]:
        rows = self._blank()
        rows[:, :-1][self._inner] = self._ids
        rows[np.arange(len(rows)), self.lengths - 1] = EOS
        return rows

    def with_bos(self) -> npt.NDArray[np.int64]:
        rows = self._blank()
        rows[:, 0] = BOS
        rows[:, 1:][self._inner] = self._ids
        return rows

    def _blank(self) -> npt.NDArray[np.int64]:
        return np.full((len(self.lengths), self._width), PAD, np.int64)
