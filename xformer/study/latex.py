"""The report as LaTeX: laid out as the paper's Table 3, the measured columns beside the paper's.

A fragment to `\\input`, for booktabs, with the T1 font encoding and textcomp's signs. As in the paper, a size
is printed in the base's row and wherever it differs from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from xformer.study import text
from xformer.study.findings import SHOWN, Findings
from xformer.study.metric import Metric, mean_of
from xformer.study.records import ConfigFile
from xformer.study.table import Row, Table
from xformer.study.text import latex

_HEAD = r"""% Written by `xformer report`. The document needs, before \begin{document}:
%   \usepackage[T1]{fontenc}
%   \usepackage{booktabs,textcomp,graphicx}
"""

_SIZES: tuple[tuple[str, Callable[[ConfigFile], float]], ...] = (
    ("$N$", lambda config: config.model.layers),
    (r"$d_{\mathrm{model}}$", lambda config: config.model.d_model),
    (r"$d_{\mathrm{ff}}$", lambda config: config.model.d_ff),
    ("$h$", lambda config: config.model.heads),
    ("$d_k$", lambda config: config.model.d_k),
    ("$d_v$", lambda config: config.model.d_v),
    ("$P_{drop}$", lambda config: config.model.dropout),
    (r"$\epsilon_{ls}$", lambda config: config.optim.label_smoothing),
    ("updates", lambda config: config.trainer.updates),
)
_MEASURED = 4  # columns: dev PPL, dev BLEU, test BLEU, parameters
_PRINTED = 3  # columns: PPL, BLEU, parameters
_ABSENT = "--"


def report_latex(tables: Sequence[Table], findings: Sequence[Findings] = ()) -> str:
    """One `table*` for the rows of Table 3 and one for all others, of each setting."""
    parts = [_HEAD]
    for table, found in zip_longest(tables, findings):
        if table.paper_block:
            parts.append(_paper_table(table))
        if table.other_block:
            parts.append(_other_table(table, found))
    return "\n".join(parts)


def _paper_table(table: Table) -> str:
    base = next((row.config for row in table.rows if row.is_base), None)
    sizes, words = len(_SIZES), len(_SIZES) + 2
    headings = [
        "",
        "",
        *(name for name, _ in _SIZES),
        *("dev PPL", "dev BLEU", "test BLEU", r"params $\times 10^6$"),
        *("dev PPL", "dev BLEU", r"params $\times 10^6$"),
    ]
    scale = latex(f"measured (scale {table.setting.scale or 'unknown'})")
    above = rf" & & \multicolumn{{{sizes}}}{{c}}{{as run}} & \multicolumn{{{_MEASURED}}}{{c}}{{{scale}}} "
    above += rf"& \multicolumn{{{_PRINTED}}}{{c}}{{paper}} \\"
    first, last = words + 1, words + _MEASURED
    rules = rf"\cmidrule(lr){{3-{words}}} \cmidrule(lr){{{first}-{last}}} "
    rules += rf"\cmidrule(lr){{{last + 1}-{last + _PRINTED}}}"
    lines: list[str] = []
    letters = [_letter(row, table.paper_block[:number]) for number, row in enumerate(table.paper_block)]
    for letter, row in zip(letters, table.paper_block, strict=True):
        if letter and lines:
            lines.append(r"\midrule")
        lines.append(
            _line([latex(letter or ""), _label(row), *_sizes(row, base), *_measured(row), *_printed(row)])
        )
    caption = "Rows of Table 3 of Vaswani et al. (2017), as measured and as printed"
    caption += f"{_seeds(table.paper_block)}. {_setting(table)}"
    columns = "ll" + "c" * sizes + "r" * (_MEASURED + _PRINTED)
    return _table(caption, columns, [above, rules, _line(headings)], lines)


def _other_table(table: Table, findings: Findings | None) -> str:
    shown = findings.shown if findings else ()
    compared = [each for metric in SHOWN for each in shown if each.metric == metric]
    headings = ["experiment", "dev PPL", "dev BLEU", "test BLEU", r"params $\times 10^6$"]
    for each in compared:
        headings += [latex(f"Δ {each.metric.title}"), "$p$"]
    lines = []
    for row in table.other_block:
        cells = [_label(row), *_measured(row)]
        for each in compared:
            found = each.of(row)
            if found is None:
                cells += [_ABSENT, _ABSENT]
                continue
            value = text.signed(found.contrast.value, text.hundredths)
            half = text.hundredths(found.contrast.uncertainty.half())
            mark = "†" if found.one_seed else ""
            cells += [latex(f"{value} ± {half}{mark}"), latex(text.p_value(found.p_holm))]
        lines.append(_line(cells))
    caption = f"Other experiments{_seeds(table.other_block)}"
    if compared:
        caption += "; differences are from the base, ± half a 95 % interval, p adjusted (Holm)"
        if any(each.one_seed for comparison in compared for each in comparison.differences.values()):
            caption += "; † one seed, of the row or of the base"
    return _table(f"{caption}. {_setting(table)}", "l" + "r" * (len(headings) - 1), [_line(headings)], lines)


def _label(row: Row) -> str:
    return latex(f"{row.label} ({row.partly_diverged})" if row.partly_diverged else row.label)


def _seeds(rows: Sequence[Row]) -> str:
    """What stands behind a mean, where any row has several seeds."""
    counts = sorted({len(row.finished) for row in rows if row.finished})
    if not counts or counts[-1] == 1:
        return ""
    several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"; measured scores are means of {several} seeds, ± their standard deviation"


def _letter(row: Row, above: Sequence[Row]) -> str | None:
    """The paper's letter where it first stands; None on the rows below it."""
    known = [each.paper.paper_row for each in above if each.paper]
    letter = row.paper.paper_row if row.paper else None
    return letter if letter not in known else None


def _sizes(row: Row, base: ConfigFile | None) -> Iterator[str]:
    for _, of in _SIZES:
        if row.config is None:
            yield ""
        elif row.is_base or base is None or of(row.config) != of(base):
            yield f"{of(row.config):g}"
        else:
            yield ""


def _measured(row: Row) -> list[str]:
    """The figures, or the state in their place."""
    if not row.finished:
        return [rf"\multicolumn{{{_MEASURED}}}{{c}}{{\emph{{{latex(row.state)}}}}}"]
    parameters = row.figure(lambda result: result.parameters)
    return [
        _spread(row, Metric("dev", "perplexity"), text.perplexity),
        _spread(row, Metric("dev", "bleu"), text.bleu),
        _spread(row, Metric("test", "bleu"), text.bleu),
        _ABSENT if parameters is None else _millions(parameters),
    ]


def _millions(parameters: float) -> str:
    return f"{parameters / 1e6:.0f}" if parameters >= 1e7 else f"{parameters / 1e6:.2f}"


def _spread(row: Row, metric: Metric, write: Callable[[float], str]) -> str:
    found = mean_of(row, metric)
    if found is None:
        return _ABSENT
    mean = write(found.mean)
    return latex(mean if found.deviation is None else f"{mean} ± {text.spread(found.deviation, write)}")


def _printed(row: Row) -> list[str]:
    if row.paper is None:
        return [_ABSENT] * _PRINTED
    params = _ABSENT if row.paper.params_millions is None else str(row.paper.params_millions)
    return [f"{row.paper.dev_ppl:.2f}", f"{row.paper.dev_bleu:.1f}", params]


def _setting(table: Table) -> str:
    return "; ".join(f"{name}: {value}" for name, value in table.lines()) + "."


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _table(caption: str, columns: str, headings: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{latex(caption)}}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *headings,
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
            "",
        ]
    )
