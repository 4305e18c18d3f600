"""The report as CSV, unrounded, for other programs: one line a row of every table, and one line a run."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import zip_longest

from xformer.config import splits
from xformer.study.findings import Findings
from xformer.study.metric import Decoding, Metric, all_evaluations, mean_of
from xformer.study.paper import PaperRow
from xformer.study.records import ConfigFile, Scores
from xformer.study.run import Run
from xformer.study.shell_line import command_of
from xformer.study.table import Row, Summary, Table
from xformer.study.text import plain

# What pandas and R both read as a value that is not there; never an empty cell or a zero.
NOT_AVAILABLE = "NA"

Cell = str | int | float | None

_CONFIGURED: dict[str, Callable[[ConfigFile], Cell]] = {
    "layers": lambda config: config.model.layers,
    "d_model": lambda config: config.model.d_model,
    "d_ff": lambda config: config.model.d_ff,
    "heads": lambda config: config.model.heads,
    "d_k": lambda config: config.model.d_k,
    "d_v": lambda config: config.model.d_v,
    "dropout": lambda config: config.model.dropout,
    "label_smoothing": lambda config: config.optim.label_smoothing,
    "position": lambda config: config.model.position.kind,
    "updates": lambda config: config.trainer.updates,
}

_PRINTED: dict[str, Callable[[PaperRow], Cell]] = {
    "paper_row": lambda paper: paper.paper_row,
    "paper_dev_ppl": lambda paper: paper.dev_ppl,
    "paper_dev_bleu": lambda paper: paper.dev_bleu,
    "paper_params_millions": lambda paper: paper.params_millions,
}


def report_csv(tables: Sequence[Table], unplaced: Sequence[Run], findings: Sequence[Findings] = ()) -> str:
    """One line a row; a mean and a standard deviation (`_sd`) for what varies with the seed.

    With `findings`, those of each table, also the differences from the base: `_difference`, the interval's
    ends, the standard errors of its two parts, the p-value, and that after Holm.
    """
    lines = [
        _setting(table) | _row(row) | _differences(row, found)
        for table, found in zip_longest(tables, findings)
        for row in table.rows
    ]
    return _csv([*lines, *(_unplaced(run) for run in unplaced)])


def runs_csv(runs: Sequence[Run]) -> str:
    """One line a run: who it is, every score that it has, what it cost, and the command that trains it again.

    Scores of other splits and other ways of decoding are under the split's name and what they change:
    `long_bleu`, `test_bleu_average5`.
    """
    return _csv([_run(run) for run in runs])


def _csv(lines: Sequence[dict[str, Cell]]) -> str:
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval=NOT_AVAILABLE, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _written(cell) for name, cell in line.items()} for line in lines)
    return text.getvalue()


def _written(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return plain(cell) or NOT_AVAILABLE
    return NOT_AVAILABLE if cell is None else cell


def _setting(table: Table) -> dict[str, Cell]:
    return {name.lower().replace(" ", "_"): value for name, value in table.lines()}


def _row(row: Row) -> dict[str, Cell]:
    reasons = (f"{run.name}: {run.reason}" for run in row.runs if run.reason)
    return {
        "experiment": row.experiment,
        "overrides": " ".join(row.overrides),
        "row_hash": row.row_hash,
        "state": row.state,
        "reason": "; ".join(reasons),
        "seeds": len(row.finished),
        **{name: read(row.config) if row.config else None for name, read in _CONFIGURED.items()},
        **_split(row, "dev"),
        **_split(row, "test"),
        **{name: read(row.paper) if row.paper else None for name, read in _PRINTED.items()},
        "parameters_closed_form": row.figure(lambda result: result.parameters_closed_form),
        "parameters": row.figure(lambda result: result.parameters),
        "flops_per_token": row.figure(lambda result: result.flops_per_token),
        **_cost(row, "train_tokens_per_second"),
        **_cost(row, "peak_memory_bytes"),
        **_cost(row, "wall_seconds"),
    }


def _differences(row: Row, findings: Findings | None) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for comparison in findings.comparisons if findings else ():
        name, found = comparison.metric.name, comparison.of(row)
        low, high = found.contrast.interval if found else (None, None)
        error = found.contrast.uncertainty if found else None
        cells |= {
            f"{name}_difference": found.contrast.value if found else None,
            f"{name}_difference_low": low,
            f"{name}_difference_high": high,
            f"{name}_error_seeds": error.seeds if error else None,
            f"{name}_error_sentences": error.sentences if error else None,
            f"{name}_degrees_of_freedom": error.degrees_of_freedom if error else None,
            f"{name}_p": found.p if found else None,
            f"{name}_p_holm": found.p_holm if found else None,
        }
    return cells


def _split(row: Row, split: str) -> dict[str, Cell]:
    cells: dict[str, Cell] = {}
    for name in ("perplexity", "bleu", "chrf", "ter"):
        cells |= _spread(f"{split}_{name}", mean_of(row, Metric(split, name)))
    return cells


def _cost(row: Row, name: str) -> dict[str, Cell]:
    return _spread(name, row.over_seeds(lambda result: getattr(result, name)))


def _spread(name: str, summary: Summary | None) -> dict[str, Cell]:
    if summary is None:
        return {name: None, f"{name}_sd": None}
    return {name: summary.mean, f"{name}_sd": summary.deviation}


def _run(run: Run) -> dict[str, Cell]:
    result, setting = run.result, run.setting
    cells: dict[str, Cell] = {
        "experiment": run.experiment,
        "overrides": " ".join(run.overrides),
        "seed": run.seed,
        "state": run.state,
        "reason": run.reason,
        "scale": setting.scale,
        "run": run.folder.name if run.started else None,
        "command": command_of(run),
    }
    told = ("run_id", "row_hash", "data", "tokenizer", "commit", "versions", "device", "updates")
    cells |= {name: getattr(result, name, None) for name in told}
    if result:
        cells |= _scores("dev", result.dev) | _scores("test", result.test)
    for found, changed in all_evaluations(run):
        for split, scores in found.splits.items():
            cells |= _scores(split, scores, changed) | cells  # what the run scored itself stays
    costs = ("parameters", "flops_per_token", "train_tokens_per_second", "peak_memory_bytes", "wall_seconds")
    return cells | {name: getattr(result, name, None) for name in costs}


def _scores(split: str, scores: Scores | None, changed: Decoding = ()) -> dict[str, Cell]:
    suffix = "".join(f"_{key}{value:g}" for key, value in changed)
    names = ("perplexity", "bleu", "chrf", "ter")
    return {f"{splits.in_results(split)}_{name}{suffix}": getattr(scores, name, None) for name in names}


def _unplaced(run: Run) -> dict[str, Cell]:
    return {
        "scale": run.setting.scale,
        "experiment": run.experiment,
        "overrides": " ".join(run.overrides),
        "state": run.state,
        "seeds": 0,
        "reason": run.reason,
    }
