"""From claims and a table of rows to verdicts: supported, contradicted, within noise, or not run.

All tests of a file of claims that could be run on a table are one family for Holm's correction, so the
chance that any of these verdicts is a false alarm is at most 5 %. One p-value enters for each test, that of
the answer its figures speak for. Two kinds of row are judged by counting instead: one all of whose runs
diverged, two at least, is worse than one that trained as often without; and what is left of a row of which
some runs diverged never speaks in its favour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Literal

from xformer.config import splits
from xformer.study import text
from xformer.study.claims import Claim, RowReference
from xformer.study.measured import Measured, row_name
from xformer.study.metric import Metric, how_to_measure
from xformer.study.question import Above, Question, Within
from xformer.study.run import Run
from xformer.study.statistics.contrast import Contrast, welch
from xformer.study.statistics.intervals import ALPHA, holm
from xformer.study.statistics.pooled import Inconclusive
from xformer.study.statistics.power import MOST_SEEDS, Design, seeds_needed
from xformer.study.table import Row
from xformer.wording import counted

Outcome = Literal["supported", "contradicted", "within noise", "not run"]
# The worst decides: one test that says no makes the claim false, whatever else is open.
_ORDER: tuple[Outcome, ...] = ("contradicted", "not run", "within noise", "supported")


@dataclass(frozen=True)
class Finding:
    """One test of a claim: what came out, in words, and with which adjusted p-value if it took one."""

    outcome: Outcome
    reason: str
    p_holm: float | None = None
    seeds_needed: int | None = None


@dataclass(frozen=True)
class Verdict:
    """What a table of rows says about a claim."""

    claim: Claim
    outcome: Outcome
    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """What each test came to; with several, the open or contrary ones say so."""
        if len({finding.outcome for finding in self.findings}) == 1:
            return tuple(dict.fromkeys(finding.reason for finding in self.findings))
        return tuple(f"{finding.outcome}: {finding.reason}" for finding in self.findings)


@dataclass(frozen=True)
class _Measurement:
    """A test whose figures are there, and the design that more seeds would give."""

    metric: Metric
    question: Question
    contrast: Contrast
    label: str
    design: Design
    diverged: Mapping[str, str] = field(default_factory=dict)  # `1 of 3 diverged` by row, where some did
    apart: tuple[str, ...] = ()  # rows that are judged by their own spread

    def flattered(self) -> bool:
        """Whether what diverged may be the reason for the answer: the runs left look better than the row."""
        favours = self.question.answer(self.contrast).favours
        if isinstance(self.question, Within):
            better = self.question.sign * self.contrast.value > 0
            return any(favours or better == (self.question.weights[row] > 0) for row in self.diverged)
        return any(favours == (self.question.weights[row] > 0) for row in self.diverged)

    def remarks(self) -> str:
        """What a reader has to know beside the figures."""
        said = [f"of {row} {lost}, which its figures leave out" for row, lost in self.diverged.items()]
        said += [f"{name} counts by its own spread, which is wider than the others'" for name in self.apart]
        return "".join(f"; {each}" for each in said)


class _Unmeasured(Exception):
    """Why a test has no figures; its outcome may still be clear."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.finding = Finding(outcome, reason)


def judge(
    claims: Sequence[Claim], rows: Sequence[Row], measured: Callable[[Metric], Measured]
) -> tuple[Verdict, ...]:
    """Judge every claim by the rows of one table, in order; `measured` gives a metric's figures."""
    bench = _Bench(rows, measured)
    asked = [
        (number, bench.measure(question, Metric.named(test.metric)))
        for number, claim in enumerate(claims)
        for test in claim.tests
        for question in test.questions()
    ]
    answers = [each.question.answer(each.contrast) for _, each in asked if isinstance(each, _Measurement)]
    adjusted = iter(zip(answers, holm(answer.p for answer in answers), strict=True))
    findings: dict[int, list[Finding]] = {}
    for number, each in asked:
        if isinstance(each, _Measurement):
            answer, p = next(adjusted)
            each = _finding(each, answer.favours, p, len(answers))
        findings.setdefault(number, []).append(each)
    return tuple(
        Verdict(claim, _worst(findings[number]), tuple(findings[number]))
        for number, claim in enumerate(claims)
    )


def _worst(findings: Sequence[Finding]) -> Outcome:
    return min((finding.outcome for finding in findings), key=_ORDER.index)


def _finding(measured: _Measurement, favours: bool, p_holm: float, family: int) -> Finding:
    metric, contrast = measured.metric, measured.contrast
    write = text.hundredths
    seen = f"{measured.label}: {text.signed(contrast.value, write)} ± {write(contrast.uncertainty.half())} "
    alone = ", for other seeds alone" if contrast.uncertainty.sentences is None else ""
    seen += f"{metric.title}{measured.question.limit} (p {text.p_value(p_holm)}{alone}){measured.remarks()}"
    if p_holm <= ALPHA and measured.flattered():
        return Finding("within noise", seen, p_holm)
    if p_holm <= ALPHA:
        return Finding("supported" if favours else "contradicted", seen, p_holm)
    # At the strictest step of Holm, and if the truth is what was measured.
    needed = seeds_needed(measured.design, measured.question.chance(contrast, ALPHA / family))
    if needed is None:
        more = f"not even {MOST_SEEDS:,} seeds a row would decide it"
        more += "" if contrast.uncertainty.sentences is None else " on these sentences"
    else:
        more = f"{needed} seeds a row would decide it"
    return Finding("within noise", f"{seen}; if that is the truth, {more}", p_holm, needed)


class _Bench:
    """Measures questions on the rows of one table."""

    def __init__(self, rows: Sequence[Row], measured: Callable[[Metric], Measured]) -> None:
        self._rows = rows
        self._measured = measured

    def measure(self, question: Question, metric: Metric) -> _Measurement | Finding:
        """The contrast that a question asks for, or why there is none."""
        try:
            return self._measure(question, metric)
        except _Unmeasured as error:
            return error.finding

    def _measure(self, question: Question, metric: Metric) -> _Measurement:
        references = {written: RowReference.read(written) for written in question.weights}
        rows = {written: self._find(reference) for written, reference in references.items()}
        _all_run(rows)
        _diverged(question, rows)
        measured = self._measured(metric)
        names = {written: row_name(row) for written, row in rows.items() if row}
        label = _label(names)
        decodings = {written: reference.decoding for written, reference in references.items()}
        matched = len(set(names.values())) == 1
        if matched:
            found = measured.decoded(next(iter(names.values())), question.weights, decodings)
            if found is None:
                raise _Unmeasured("not run", _unscored(names, references, metric))
        elif any(decodings.values()):
            raise _Unmeasured("not run", f"{label}: only decodings of the same row can be compared")
        else:
            lacking = [written for written, name in names.items() if name not in measured.samples]
            if lacking:
                raise _Unmeasured("not run", _unscored(dict.fromkeys(lacking, ""), references, metric))
            found = measured.contrast({names[written]: each for written, each in question.weights.items()})
        if isinstance(found, Inconclusive):
            about = f"{label}: " if matched else ""  # of all rows alike, so that a claim says it once
            advice = f"; {found.advice}" if found.advice else ""
            raise _Unmeasured("within noise", f"{about}{found.reason}{advice}")
        design = _design(question, found, measured, names, matched)
        if matched:  # of the same runs, whichever these are
            return _Measurement(metric, question, found, label, design)
        apart = () if isinstance(measured.pooled, Inconclusive) else measured.pooled.apart
        lost = {written: row.partly_diverged for written, row in rows.items() if row and row.partly_diverged}
        wide = tuple(written for written, name in names.items() if name in apart)
        return _Measurement(metric, question, found, label, design, lost, wide)

    def _find(self, reference: RowReference) -> Row | None:
        """The row; None where it is not in the table."""
        found = [row for row in self._rows if row.is_called(reference.words)]
        if len(found) > 1:
            raise _Unmeasured(
                "not run", f"{found[0].label.split(' #')[0]}: two different rows have this name"
            )
        return found[0] if found else None


def _design(
    question: Question, found: Contrast, measured: Measured, names: dict[str, str], matched: bool
) -> Design:
    error = found.uncertainty
    if matched or isinstance(measured.pooled, Inconclusive):  # one difference a seed
        return Design(error.seeds * sqrt(error.degrees_of_freedom + 1), 1, error.sentences, spread=1.0)
    # As if all rows had two seeds, and so one degree of freedom each.
    apart = {name: replace(spread, degrees_of_freedom=1) for name, spread in measured.pooled.apart.items()}
    common = len(measured.samples) - len(apart)
    squares = {names[written]: weight**2 for written, weight in question.weights.items()}
    pooled = replace(measured.pooled, degrees_of_freedom=common, apart=apart)
    variance, degrees = welch(squares, pooled)
    spread = sqrt(sum(squares.values()))
    return Design(sqrt(variance) / spread, degrees, error.sentences, spread)


def _all_run(rows: dict[str, Row | None]) -> None:
    missing = [
        written if row is None or not row.runs else f"{written} ({row.state})"
        for written, row in rows.items()
        if row is None or not (row.finished or _has_diverged(row))
    ]
    if missing:
        raise _Unmeasured("not run", f"missing: {', '.join(missing)}")


def _has_diverged(row: Row) -> bool:
    return any(run.state == "diverged" for run in row.runs)


def _diverged(question: Question, rows: dict[str, Row | None]) -> None:
    """Decide what can be decided without figures, where a row has none because all its runs diverged."""
    lost = [written for written, row in rows.items() if row and not row.finished]
    if not lost:
        return
    seeds = [
        len({run.seed for run in row.runs if run.state == "diverged"}) for row in map(rows.get, lost) if row
    ]
    told = ", ".join(
        f"{written} diverged with {counted(n, 'seed')}" for written, n in zip(lost, seeds, strict=True)
    )
    if len(lost) == len(rows) or len(rows) > 2:
        raise _Unmeasured("not run", f"{told}, and has no figures to compare")
    others = [run for written, row in rows.items() if row and written not in lost for run in row.runs]
    open_runs = [run for run in others + _runs(rows, lost) if run.state not in ("finished", "diverged")]
    if open_runs:
        open_ = f"{counted(len(open_runs), 'run')} of these rows {'has' if len(open_runs) == 1 else 'have'}"
        raise _Unmeasured("not run", f"{told}; {open_} not ended")
    if seeds[0] < 2:
        raise _Unmeasured("within noise", f"{told}; a second seed would show whether that is chance")
    if too := sum(run.state == "diverged" for run in others):
        raise _Unmeasured(
            "within noise", f"{told}, the other row with {too} of {counted(len(others), 'seed')}"
        )
    if len({run.seed for run in others}) < 2:
        raise _Unmeasured(
            "within noise", f"{told}; a second seed of the other row would show whether that is chance"
        )
    worse_diverged = isinstance(question, Above) and question.weights[lost[0]] < 0
    raise _Unmeasured("supported" if worse_diverged else "contradicted", f"{told}, the other row with none")


def _runs(rows: dict[str, Row | None], names: list[str]) -> list[Run]:
    return [run for row in map(rows.get, names) if row for run in row.runs]


def _label(names: dict[str, str]) -> str:
    """`base − A_h1` for two rows, `C_n2 … C_n8` for more."""
    short = [written.replace("table3/", "") for written in names]
    return " − ".join(short) if len(short) == 2 else f"{short[0]} … {short[-1]}"


def _unscored(names: dict[str, str], references: dict[str, RowReference], metric: Metric) -> str:
    commands = dict.fromkeys(
        how_to_measure(metric, references[written].decoding)
        for written in names
        if references[written].decoding or metric.split not in splits.SCORED
    )
    how = f"; {' and '.join(f'`{each}`' for each in commands)} measures it" if commands else ""
    return f"no {metric.title} of {', '.join(names)}{how}"
