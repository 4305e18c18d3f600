"""What a decoder remembers between two positions.

B rows (sentences times beams), G key_value_heads, T positions so far, C capacity, S source length,
K d_k, V d_v.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

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
        # Where rows are copied to when they are reordered: fresh memory costs more than the copy.
        self._spare_keys: Tensor | None = None
        self._spare_values: Tensor | None = None

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
            self._keys, self._spare_keys = _selected(self._keys, rows, self._spare_keys), self._keys
            self._values, self._spare_values = _selected(self._values, rows, self._spare_values), self._values

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


def _selected(old_BGCK: Tensor, rows: Tensor, spare_BGCK: Tensor | None) -> Tensor:
    """Return the rows in the memory of `spare`, if there is enough of it."""
    shape = (len(rows), *old_BGCK.shape[1:])
    if spare_BGCK is None or spare_BGCK.numel() < math.prod(shape):
        return old_BGCK.index_select(0, rows)
    room_BGCK = spare_BGCK.flatten()[: math.prod(shape)].view(shape)
    return torch.index_select(old_BGCK, 0, rows, out=room_BGCK)


class DecoderState:
    """Where the decoding of a batch stands: caches, the projected source, and the next position.

    Neighbouring rows that decode the same sentence share its keys and values, as long as every sentence has
    equally many: A sentences, B = A · beams rows.
    """

    def __init__(self, memories: list[tuple[Tensor, Tensor]], mask: Mask, rows: int, max_length: int) -> None:
        self.position = 0
        self.max_length = max_length
        self.caches = [KeyValueCache(max_length) for _ in memories]
        self.memories = memories  # per layer: keys (A, G, S, K) and values (A, G, S, V) of the source
        self.mask = mask
        self._place_B = torch.arange(rows, device=memories[0][0].device)  # each row's sentence in memories

    def select(self, rows: Tensor) -> None:
        """Reorder, drop or repeat rows (beams), in place."""
        for cache in self.caches:
            cache.select(rows)
        place_B = self._place_B[rows]
        if torch.equal(place_B, self._place_B):  # beams mostly trade places within a sentence
            return
        place_A, size_A = torch.unique_consecutive(place_B, return_counts=True)
        if bool((size_A != size_A[0]).any()):
            place_A, size_A = place_B, torch.ones_like(place_B)
        if not torch.equal(place_A, torch.arange(len(self.memories[0][0]), device=place_A.device)):
            self.memories = [
                (k.index_select(0, place_A), v.index_select(0, place_A)) for k, v in self.memories
            ]
            self.mask = self.mask.select(place_A)
        self._place_B = torch.arange(len(place_A), device=place_A.device).repeat_interleave(size_A)


class PrefixState:
    """Where a single stack stands: the keys and values of source and target, and how much of them is real."""

    def __init__(self, source_mask_BS: Tensor, layers: int, max_length: int) -> None:
        self.position = 0  # target positions read so far
        self.source_mask_BS = source_mask_BS
        self.caches = [KeyValueCache(source_mask_BS.shape[1] + max_length) for _ in range(layers)]

    @property
    def source_length(self) -> int:
        return self.source_mask_BS.shape[1]

    def index(self, target: int) -> Tensor:
        """Return the positions of the padded source and of so many target tokens, (B, S + target)."""
        return run_on(self.source_mask_BS, target)

    def mask(self, target: int) -> Mask:
        """Let the next target token see the real source and so many target tokens, itself among them."""
        return Mask(nn.functional.pad(self.source_mask_BS, (0, target), value=True)[:, None, None])

    def select(self, rows: Tensor) -> None:
        """Reorder, drop or repeat rows (beams), in place."""
        for cache in self.caches:
            cache.select(rows)
        self.source_mask_BS = self.source_mask_BS.index_select(0, rows)


def run_on(source_mask_BS: Tensor, target: int) -> Tensor:
    """Return positions of a padded source and of a target after its last real token, (B, S + target)."""
    S, device = source_mask_BS.shape[1], source_mask_BS.device
    source_BS = torch.arange(S, device=device).expand_as(source_mask_BS)
    target_BT = source_mask_BS.sum(dim=1, keepdim=True) + torch.arange(target, device=device)
    return torch.cat([source_BS, target_BT], dim=1)
