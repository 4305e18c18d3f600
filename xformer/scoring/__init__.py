"""Scores of translations against references, by the libraries that the field quotes."""
