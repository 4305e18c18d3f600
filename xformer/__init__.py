"""xformer: "Attention Is All You Need" row by row, with modern variants set against it."""

__version__ = "0.1.0"
