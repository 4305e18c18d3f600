"""What the views of `xformer inspect` share: sections, tables, values, and where they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from xformer import streams

WIDTH = 120
"""Of text that goes to a file or another program."""


def show(view: RenderableType) -> None:
    """Print to standard output, as wide as the terminal; to a file or another program, as plain lines."""
    console = streams.console()
    if console.is_terminal:
        console.print(view)
        return
    console = Console(width=WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(view)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def section(title: str, *parts: RenderableType | str) -> Iterator[RenderableType]:
    """A heading, and below it tables and remarks, a little to the right."""
    yield Rule(Text(title, style="bold"), align="left", style="dim")
    for part in parts:
        yield Padding(Text(part, style="dim") if isinstance(part, str) else part, (0, 0, 0, 2))
    yield Text()


def table_of(*columns: str) -> Table:
    """`>` before a heading sets its column to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        right = column.startswith(">")
        table.add_column(
            column.removeprefix(">"), justify="right" if right else "left", overflow="fold", no_wrap=right
        )
    return table


def shown(value: Any) -> str:
    """A value as a person would write it in a configuration, digits in groups."""
    match value:
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int():
            return f"{value:,}"
        case _:
            return str(value)
