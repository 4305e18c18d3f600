"""`xformer compare` in the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xformer import streams
from xformer.study import text
from xformer.study.two_runs import TwoRuns, compare_runs
from xformer.wording import counted


def compare(left: Path, right: Path, split: str, as_json: bool, console: Console | None = None) -> int:
    """Print what two runs differ in; raises UserError as `compare_runs` does."""
    found = compare_runs(left, right, split)
    if as_json:
        print(json.dumps(found.values(), indent=2, allow_nan=False))
    else:
        (console or streams.console()).print(two_runs_view(found))
    return 0


def two_runs_view(found: TwoRuns) -> RenderableType:
    """Configuration, scores with both tests, and the sentences that differ most."""
    parts: list[RenderableType] = [
        Text(text.plain(f"left:  {found.left.name}  {found.left.folder}")),
        Text(text.plain(f"right: {found.right.name}  {found.right.folder}")),
        Text("\nConfiguration", style="bold"),
        _configuration(found),
        Text(f"\n{found.split}, {counted(found.sentences, 'sentence')}", style="bold"),
        _scores(found),
        *_tests(found),
    ]
    if found.pairs:
        parts += [Text("\nLargest differences by sentence BLEU", style="bold"), *_sentences(found)]
    parts += [Text(), *(Text(text.plain(note), style="dim") for note in found.notes)]
    return Group(*parts)


def _configuration(found: TwoRuns) -> RenderableType:
    if not found.changed:
        return Padding(Text("no key differs"), (0, 0, 0, 2))
    table = _grid("key", "left", "right")
    for each in found.changed:
        table.add_row(*(Text(text.plain(str(part))) for part in (each.key, each.left, each.right)))
    return table


def _scores(found: TwoRuns) -> RenderableType:
    table = _grid("", "left", "right", "right − left")
    for each in found.scores:
        figures = (text.perplexity(each.left), text.perplexity(each.right))
        table.add_row(each.metric.title, *figures, text.signed(each.difference, text.hundredths))
    return table


def _tests(found: TwoRuns) -> Iterator[RenderableType]:
    for name, test in (
        ("paired bootstrap", found.bootstrap),
        ("approximate randomisation", found.randomisation),
    ):
        yield Padding(Text(f"BLEU, {name}: p {text.p_value(test.p)}"), (0, 0, 0, 2))


def _sentences(found: TwoRuns) -> Iterator[RenderableType]:
    for pair in found.pairs:
        scores = f"{pair.left_bleu:.1f} → {pair.right_bleu:.1f}"
        yield Padding(Text(f"line {pair.line}: {scores}", style="dim"), (0, 0, 0, 2))
        for side, line in (("left ", pair.left), ("right", pair.right)):
            yield Padding(Text(f"{side}  {text.plain(line)}"), (0, 0, 0, 4))


def _grid(*headings: str) -> Table:
    table = Table(box=box.MINIMAL, show_edge=False, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", justify="left" if number == 0 else "right")
    return table
