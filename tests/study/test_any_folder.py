"""Whatever stands in the files below a folder of runs, status and report are shown and written."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console

from tests.study.kept import outputs, write_kept
from tests.study.planted import write_evaluation
from xformer.study.collect import collect
from xformer.study.report import write_report
from xformer.study.status import status_table

CURVE = "update,tokens,epoch,loss,nll,learning_rate,gradient_norm,tokens_per_second,dev_perplexity,dev_bleu\n"
AWKWARD = [
    b"[" * 5000,
    b"&a [*a]\n",
    b"\xff\xfe",
    b"1e999",
    b"-1",
    b'"',
    b"nan",
    b"\x00",
    b",,,\n",
    b"\n" * 3,
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rows, with everything that a report may look at."""
    folder = tmp_path_factory.mktemp("any") / "runs"
    for experiment, seed in (("table3/base", 1), ("table3/base", 2), ("table3/A_h1", 1)):
        run = write_kept(folder, experiment, seed)
        (run / "hypotheses" / "test.txt").write_text("\n".join(outputs(seed)) + "\n")
        (run / "metrics.csv").write_text(CURVE + "50,2900,0.1,6.6,6.5,0.1,1.2,8000,20.0,3.1\n")
        write_evaluation(run, "test", 61.0, average=5)
    return folder


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_any_content_of_any_file_is_reported(runs: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(path for path in runs.rglob("*") if path.is_file())))
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    put = data.draw(st.binary(max_size=20) | st.sampled_from(AWKWARD))
    kept = whole[cut + data.draw(st.integers(0, 20)) :] if data.draw(st.booleans()) else b""
    path.write_bytes(whole[:cut] + put + kept)
    try:
        console = Console(file=io.StringIO(), width=120)
        console.print(status_table(collect(runs)))
        report = write_report(runs, runs.parent / "report", console)
        assert len(report.runs) == 3
    finally:
        path.write_bytes(whole)
