"""What an override changes, by its text alone: nothing of Hydra is loaded."""

from __future__ import annotations


def key_of(word: str) -> str:
    """The key or group that a word changes, adds or takes away."""
    return word.partition("=")[0].lstrip("+~")
