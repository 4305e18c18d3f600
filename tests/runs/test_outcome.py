"""Exit codes and summaries say what happened."""

from __future__ import annotations

import signal

import pytest

from xformer.runs.outcome import Ending, Outcome, exit_code, summary


def ended(ending: Ending, by: int | None = None) -> Outcome:
    return Outcome("table3/base", 1, ending, "runs/x", "because", signal=by)


@pytest.mark.parametrize(
    ("endings", "sweep", "code"),
    [
        (["finished"], False, 0),
        (["diverged"], False, 0),
        (["skipped", "finished"], True, 0),
        (["failed"], False, 1),
        (["refused"], False, 1),
        (["wrong"], False, 2),
        (["wrong"], True, 1),
        (["finished", "failed", "diverged"], True, 1),
    ],
)
def test_the_exit_code_is_the_contract(endings: list[Ending], sweep: bool, code: int) -> None:
    assert exit_code([ended(each) for each in endings], sweep=sweep) == code


def test_an_interruption_outweighs_all_else() -> None:
    assert exit_code([ended("failed"), ended("interrupted", signal.SIGINT)], sweep=True) == 130
    assert exit_code([ended("interrupted", signal.SIGTERM)], sweep=False) == 143
    assert exit_code([ended("interrupted", signal.SIGUSR1)], sweep=False) == 143


def test_the_summary_names_every_run_that_did_not_finish_and_counts_those_not_started() -> None:
    outcomes = [ended("finished")]
    outcomes += [
        Outcome(f"own/{ending}", 7, ending, f"runs/{ending}", f"its {ending}")
        for ending in ("failed", "diverged", "wrong")
    ]
    text = summary(outcomes, planned=6)
    assert text.splitlines()[0] == "6 runs: 1 finished, 1 failed, 1 diverged, 1 wrong, 2 not started"
    for ending in ("failed", "diverged", "wrong"):
        assert f"{ending} own/{ending} seed 7: its {ending}\n      runs/{ending}/log.txt" in text
