"""Splits of a corpus by name: the dev set is `valid` in data and files, `dev` in results and tables."""

from __future__ import annotations

CORPUS = ("train", "valid", "test")
SCORED = {"dev": "valid", "test": "test"}  # those that every run is scored on, by their name in results


def in_files(name: str) -> str:
    """A split's name in data and in file names, whichever it was called by."""
    return SCORED.get(name, name)


def in_results(name: str) -> str:
    """A split's name in results and tables, whichever it was called by."""
    return "dev" if name == SCORED["dev"] else name
