"""metrics.csv: one row an interval, no gaps and no repeats after a resume (docs/design.md, contracts)."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from xformer.errors import UserError
from xformer.files import write_atomic


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one interval of training came to. `None` where the dev set was not looked at."""

    update: int  # the last of the interval
    tokens: int  # real source and target tokens since the beginning of the run
    epoch: float  # passes through the training text, as a fraction
    loss: float  # smoothed, nats per target token, over the interval
    nll: float  # without smoothing, nats per target token, over the interval
    learning_rate: float  # of the last update
    gradient_norm: float  # of the last update, before clipping
    tokens_per_second: float  # real source and target tokens in time spent training
    dev_perplexity: float | None = None
    dev_bleu: float | None = None

    def numbers(self) -> dict[str, float]:
        """The values there are, by column, for a tracker; the update is their place, not one of them."""
        return {name: value for name, value in asdict(self).items() if value is not None and name != "update"}

    def text(self) -> dict[str, str]:
        """The values as they are written."""
        return {name: _text(value) for name, value in asdict(self).items()}


COLUMNS = tuple(field.name for field in fields(Row))


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.10g}"


class MetricsFile:
    """Appends rows; a row is there whole or, after a kill, cut off when the run goes on.

    Reading raises UserError for a file that somebody else has written into.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def rewind(self, update: int) -> None:
        """Drop the rows after `update` and a torn last one; start the file where there is none."""
        rows = self._rows()
        kept = [row for row in rows if int(row["update"]) <= update]
        write_atomic(self.path, _lines([dict(zip(COLUMNS, COLUMNS, strict=True)), *kept]))

    def last_update(self) -> int:
        """The update of the last row, 0 without one."""
        rows = self._rows()
        return int(rows[-1]["update"]) if rows else 0

    def append(self, row: Row) -> None:
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_lines([row.text()]))

    def _rows(self) -> list[dict[str, str]]:
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8", errors="replace")
        whole = text[: text.rfind("\n") + 1]  # a line without its end was being written when the run died
        heading, *lines = whole.split("\n")[:-1] or [""]
        rows = []
        for number, line in enumerate(lines, start=2):
            cells = line.split(",")
            if len(cells) != len(COLUMNS) or not cells[0].isdecimal():
                raise self._damaged(f"line {number} is no row of it")
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
        if whole and heading != ",".join(COLUMNS):
            raise self._damaged("its first line does not name the columns")
        return rows

    def _damaged(self, what: str) -> UserError:
        return UserError(
            f"{self.path}: {what}. Mend the file, or move it away: the run goes on with the rows to come."
        )


def _lines(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    csv.DictWriter(out, COLUMNS, lineterminator="\n").writerows(rows)
    return out.getvalue()
