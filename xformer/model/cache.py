"""What a decoder remembers between two positions.

B rows (sentences times beams), G key_value_heads, T positions so far, C capacity, S source length,
K d_k, V d_v.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xformer.model.masks import Mask


class KeyValueCache:
    """Keys and values of one self-attention, for the positions decoded so far.

    `max_length`, the number of positions expected at most, keeps the last doubling from reaching too far.
    """

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        self.length = 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(self, k_BGTK: Tensor, v_BGTV: Tensor) -> tuple[Tensor, Tensor]:
        """Add the next positions and return the keys and values of all of them."""
        end = self.length + k_BGTK.shape[2]
        self._keys = self._extended(self._keys, k_BGTK, end)
        self._values = self._extended(self._values, v_BGTV, end)
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]  # (B, G, T, K), (B, G, T, V)

    def select(self, rows: Tensor) -> None:
        """Reorder, drop or repeat rows."""
        if self._keys is not None and self._values is not None:
            # Whole rows, unused capacity included: one copy of solid memory beats picking the used part.
            self._keys = self._keys.index_select(0, rows)
            self._values = self._values.index_select(0, rows)

    def _extended(self, old_BGCK: Tensor | None, new_BGTK: Tensor, end: int) -> Tensor:
        B, G, _, K = new_BGTK.shape
        if old_BGCK is None or end > old_BGCK.shape[2]:
            # Doubling copies each position once on average, and short outputs stay small.
            capacity = max(end, min(2 * end, self.max_length))
            room_BGCK = new_BGTK.new_empty(B, G, capacity, K)
            if old_BGCK is not None:
                room_BGCK[:, :, : self.length] = old_BGCK[:, :, : self.length]
            old_BGCK = room_BGCK
        old_BGCK[:, :, self.length : end] = new_BGTK
        return old_BGCK


class DecoderState:
    """Where the decoding of a batch stands: caches, the projected source, and the next position."""

    def __init__(self, memories: list[tuple[Tensor, Tensor]], mask: Mask, rows: int, max_length: int) -> None:
        self.position = 0
        self.max_length = max_length
        self.caches = [KeyValueCache(max_length) for _ in memories]
        self.memories = memories  # per layer: keys (B, G, S, K) and values (B, G, S, V) of the source
        self.mask = mask
        self._sentences = torch.arange(rows, device=memories[0][0].device)

    def select(self, rows: Tensor) -> None:
        """Reorder, drop or repeat rows (beams), in place."""
        for cache in self.caches:
            cache.select(rows)
        sentences = self._sentences[rows]
        if not torch.equal(sentences, self._sentences):  # beams mostly trade places within a sentence
            self.memories = [(k.index_select(0, rows), v.index_select(0, rows)) for k, v in self.memories]
            self.mask = self.mask.select(rows)
            self._sentences = sentences
