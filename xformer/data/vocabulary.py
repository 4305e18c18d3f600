"""The four control tokens, the same ids in every vocabulary."""

from __future__ import annotations

PAD, BOS, EOS, UNK = 0, 1, 2, 3
