"""From run folders to verdicts: tables, statistics, claims and reports; it loads neither torch nor hydra."""
