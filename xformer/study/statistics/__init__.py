"""What may be concluded from scores of several rows with several seeds (docs/statistics.md).

Nothing here knows of runs, files or tables: figures go in, figures come out, and where nothing can be said
the result is an `Inconclusive` with the reason, never a NaN.
"""
