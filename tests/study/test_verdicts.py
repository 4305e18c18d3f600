"""Every verdict comes out as it was planted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from scipy import stats

from tests.study.folders import result, scores, write_run
from tests.study.planted import DIVERGED, EFFECTS, FIRST, SECOND, Truth, plant, write_evaluation
from xformer.study.claims import Claim, Test, built_in_claims, read_claims
from xformer.study.collect import collect
from xformer.study.findings import find
from xformer.study.table import build_tables
from xformer.study.verdicts import Outcome, Verdict

OUTCOMES = get_args(Outcome)
# Tests of claims on the first truth, and what must come out.
CASES = [
    ("kind: superiority, rows: [table3/base, table3/A_h1], margin: 1.0", "supported"),
    ("kind: superiority, rows: [table3/base, table3/A_h1], margin: 3.0", "contradicted"),
    ("kind: superiority, rows: [table3/base, table3/A_h1], margin: 2.0", "within noise"),
    ("kind: superiority, rows: [table3/A_h1, table3/base]", "contradicted"),
    ("kind: superiority, rows: [table3/A_h1, modern/rope]", "not run"),
    ("kind: no_worse, rows: [table3/A_h1, table3/base], margin: 3.0", "supported"),
    ("kind: no_worse, rows: [table3/base, table3/A_h1], margin: 0.1", "supported"),
    ("kind: no_worse, rows: [table3/A_h1, table3/base], margin: 1.0", "contradicted"),
    ("kind: no_worse, rows: [table3/A_h1, table3/base], margin: 2.0", "within noise"),
    ("kind: no_worse, rows: [table3/A_h1, modern/rope], margin: 2.0", "not run"),
    ("kind: equivalence, rows: [table3/A_h1, table3/base], margin: 3.0", "supported"),
    ("kind: equivalence, rows: [table3/A_h1, table3/base], margin: 1.0", "contradicted"),
    ("kind: equivalence, rows: [table3/base, table3/A_h1], margin: 1.0", "contradicted"),
    ("kind: equivalence, rows: [table3/E_learned, table3/base], margin: 0.05", "within noise"),
    ("kind: equivalence, rows: [modern/rope, table3/base], margin: 1.0", "not run"),
    ("kind: ordering, rows: [table3/C_n8, table3/base, table3/C_n4, table3/C_n2]", "supported"),
    ("kind: ordering, rows: [table3/C_n8, table3/C_n4, table3/base]", "contradicted"),
    ("kind: ordering, rows: [table3/C_n8, table3/base, table3/D_ls00]", "within noise"),
    ("kind: ordering, rows: [table3/C_n8, table3/base, modern/rope]", "not run"),
    ("kind: trend, rows: [table3/C_n2, table3/base, table3/C_n8], along: [2, 6, 8]", "supported"),
    ("kind: trend, rows: [table3/C_n2, table3/base, table3/C_n8], along: [8, 6, 2]", "contradicted"),
    (
        "kind: trend, rows: [table3/base, table3/D_ls00, table3/E_learned], along: [1, 2, 3]",
        "within noise",
    ),
    ("kind: trend, rows: [table3/C_n2, table3/base, modern/rope], along: [2, 6, 8]", "not run"),
]


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planted")
    plant(root)
    return root


def judged(root: Path, claims: tuple[Claim, ...] | None = None) -> dict[str, Verdict]:
    (table,), _ = build_tables(collect(root))
    return {each.claim.name: each for each in find(table, claims or built_in_claims()).verdicts}


def own(tmp_path: Path, *tests: str) -> tuple[Claim, ...]:
    """A claim of one test each, named by its place."""
    path = tmp_path / "own.yaml"
    path.write_text(
        "".join(
            f"- {{name: t{number}, says: x, source: y, tests: [{{metric: test_bleu, {test}}}]}}\n"
            for number, test in enumerate(tests)
        )
    )
    return read_claims(path)


def verdict(root: Path, tmp_path: Path, test: str) -> Verdict:
    return judged(root, own(tmp_path, test))["t0"]


@pytest.mark.parametrize("noise_seed", [2, 3, 4, 5])
@pytest.mark.parametrize("truth", [FIRST, SECOND], ids=["first", "second"])
def test_every_built_in_claim_is_judged_as_planted(tmp_path: Path, truth: Truth, noise_seed: int) -> None:
    plant(tmp_path, noise_seed=noise_seed, truth=truth)
    assert len(collect(tmp_path)) == 60
    assert {name: each.outcome for name, each in judged(tmp_path).items()} == truth.verdicts


def test_each_built_in_claim_is_planted_with_a_verdict_and_each_verdict_planted() -> None:
    planted = {name: {FIRST.verdicts[name], SECOND.verdicts[name]} for name in FIRST.verdicts}
    assert set(planted) == {claim.name for claim in built_in_claims()}
    assert all(found != {"not run"} for found in planted.values())
    assert set().union(*planted.values()) == set(OUTCOMES)


def test_the_cases_below_hold_every_verdict_of_every_kind() -> None:
    kinds = get_args(get_args(Test)[0])
    assert {(test.split(",")[0].removeprefix("kind: "), outcome) for test, outcome in CASES} == {
        (get_args(get_type_hints(kind)["kind"])[0], outcome) for kind in kinds for outcome in OUTCOMES
    }


@pytest.mark.parametrize(("test", "outcome"), CASES)
def test_every_kind_has_every_verdict(sixty: Path, tmp_path: Path, test: str, outcome: str) -> None:
    assert verdict(sixty, tmp_path, test).outcome == outcome


def test_less_is_better_in_perplexity(sixty: Path, tmp_path: Path) -> None:
    rows = "metric: test_perplexity, rows: [table3/D_ls00, table3/base]"
    text = "- {{name: t, says: x, source: y, tests: [{{kind: superiority, {rows}, margin: {margin}}}]}}"
    for margin, outcome in ((0.1, "supported"), (1.0, "contradicted")):
        (tmp_path / "own.yaml").write_text(text.format(rows=rows, margin=margin))
        found = judged(sixty, read_claims(tmp_path / "own.yaml"))["t"]
        assert found.outcome == outcome
        assert f"test PPL, to be below −{margin:g}" in found.reasons[0]
        assert "D_ls00 − base: −0.3" in found.reasons[0]


def test_a_verdict_within_noise_says_how_many_seeds_would_decide(sixty: Path, tmp_path: Path) -> None:
    found = verdict(sixty, tmp_path, "kind: equivalence, rows: [table3/E_learned, table3/base], margin: 0.15")
    (finding,) = found.findings
    assert found.outcome == "within noise"
    assert finding.seeds_needed is not None
    assert 3 < finding.seeds_needed < 200
    assert f"{finding.seeds_needed} seeds a row would decide it" in finding.reason


def test_the_seeds_that_would_decide_do_decide(tmp_path: Path) -> None:
    """The truth is the measured one in name only, so twice the number is planted."""
    test = "kind: equivalence, rows: [table3/E_learned, table3/base], margin: 0.15"
    plant(tmp_path / "few")
    needed = verdict(tmp_path / "few", tmp_path, test).findings[0].seeds_needed
    assert needed is not None
    others = set(EFFECTS) - {"table3/base", "table3/E_learned"} | {DIVERGED}
    plant(tmp_path / "many", seeds=2 * needed, without=others)
    assert verdict(tmp_path / "many", tmp_path, test).outcome == "supported"


def test_missing_rows_are_named_with_their_state(sixty: Path, tmp_path: Path) -> None:
    assert judged(sixty)["rotary_length"].reasons == ("missing: modern/rope",)
    write_run(tmp_path / "runs", "table3/base")
    write_run(tmp_path / "runs", "table3/A_h1", state="failed", reason="killed")
    found = judged(tmp_path / "runs")["heads"]
    assert found.reasons == ("missing: table3/A_h1 (failed)", "missing: table3/A_h32")


def test_an_unmeasured_split_says_which_command_measures_it(sixty: Path, tmp_path: Path) -> None:
    write_run(tmp_path, "modern/rope")
    write_run(tmp_path, "table3/base")
    (reason,) = judged(tmp_path)["rotary_length"].reasons
    assert reason == (
        "no long BLEU of modern/rope, table3/base; `xformer evaluate RUN --split long` measures it"
    )
    assert "`xformer evaluate RUN --average 5`" in judged(tmp_path)["averaging"].reasons[0]


def test_another_split_is_judged_where_it_was_evaluated(tmp_path: Path) -> None:
    for experiment, bleu in (("modern/rope", 50.0), ("table3/base", 30.0)):
        for seed in (1, 2, 3):
            folder = write_run(tmp_path, experiment, seed, outcome=result(60 + seed / 10))
            write_evaluation(folder, "long", bleu + seed)
            write_evaluation(folder, "long", 1.0, beam=1)  # another decoding than the run's own
    found = judged(tmp_path)["rotary_length"]
    assert found.outcome == "supported"
    assert "rope − base: +20.00" in found.reasons[0]


def test_one_run_in_two_decodings_is_compared_run_by_run(tmp_path: Path) -> None:
    """The seeds differ by whole points, the gain from averaging hardly: unpaired, nothing would be seen."""
    for seed, (bleu, gain) in enumerate(((55.0, 0.30), (60.0, 0.35), (66.0, 0.25)), 1):
        outcome = result(bleu, test=scores(bleu, 3.0))
        write_evaluation(write_run(tmp_path, seed=seed, outcome=outcome), "test", bleu + gain, average=5)
    found = judged(tmp_path)["averaging"]
    assert found.outcome == "supported"
    assert "base decode.average=5 − base: +0.30 ± 0.12" in found.reasons[0]


def test_seeds_needed_of_one_run_in_two_decodings_are_those_of_the_paired_t_test(tmp_path: Path) -> None:
    gains = np.array([0.30, 0.10, -0.10])
    for seed, gain in enumerate(gains, 1):
        outcome = result(60.0, test=scores(60.0 + seed, 3.0))
        write_evaluation(
            write_run(tmp_path, seed=seed, outcome=outcome), "test", 60.0 + seed + gain, average=5
        )
    tried = (
        seeds
        for seeds in range(2, 1000)
        if stats.nct.sf(
            stats.t.ppf(0.975, seeds - 1), seeds - 1, gains.mean() / (gains.std(ddof=1) / np.sqrt(seeds))
        )
        >= 0.8
    )
    test = "kind: superiority, rows: [table3/base decode.average=5, table3/base]"
    assert verdict(tmp_path, tmp_path, test).findings[0].seeds_needed == next(tried)


@pytest.mark.parametrize(("along", "outcome"), [("[1, 2, 8]", "supported"), ("[8, 2, 1]", "contradicted")])
def test_a_trend_over_decodings_of_one_row_takes_all_of_them(
    tmp_path: Path, along: str, outcome: Outcome
) -> None:
    for seed, noise in enumerate((0.0, 0.3, -0.2), 1):
        run = write_run(tmp_path, seed=seed, outcome=result(60.0 + seed, test=scores(66.0 + seed, 3.0)))
        write_evaluation(run, "test", 60.0 + seed + noise, beam=1)
        write_evaluation(run, "test", 65.0 + seed - noise, beam=2)
    rows = "[table3/base decode.beam=1, table3/base decode.beam=2, table3/base]"
    found = verdict(tmp_path, tmp_path, f"kind: trend, rows: {rows}, along: {along}")
    assert found.outcome == outcome


def test_divergence_decides_nothing_while_runs_are_open_or_where_both_rows_have_it(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_run(tmp_path, seed=seed, outcome=result(70.0 + seed))
        write_run(tmp_path, "modern/rope", seed, state="diverged")
    rows = "kind: superiority, rows: [table3/base, modern/rope]"
    assert verdict(tmp_path, tmp_path, rows).outcome == "supported"
    going_on = write_run(tmp_path, "modern/rope", 3, state="interrupted")
    found = verdict(tmp_path, tmp_path, rows)
    assert found.outcome == "not run"
    assert found.reasons == ("modern/rope diverged with 2 seeds; 1 run of these rows has not ended",)
    shutil.rmtree(going_on)
    write_run(tmp_path, seed=3, state="diverged")
    found = verdict(tmp_path, tmp_path, rows)
    assert found.outcome == "within noise"
    assert found.reasons == ("modern/rope diverged with 2 seeds, the other row with 1 of 3 seeds",)


@pytest.mark.parametrize(("kind", "margin"), [("no_worse", 0.5), ("equivalence", 9), ("superiority", 0.1)])
def test_what_is_left_of_a_row_that_diverged_never_speaks_for_it(
    tmp_path: Path, kind: str, margin: float
) -> None:
    for seed in (1, 2, 3):
        write_run(tmp_path, seed=seed, outcome=result(60.0 + seed / 10))
        write_run(tmp_path, "modern/rope", seed, outcome=result(60.5 + seed / 10))
        write_run(tmp_path, "modern/nope", seed, outcome=result(50.0 + seed / 10))
    rows = f"kind: {kind}, rows: [modern/rope, table3/base], margin: {margin}"
    assert verdict(tmp_path, tmp_path, rows).outcome == "supported"
    write_run(tmp_path, "modern/rope", 4, state="diverged")
    found = verdict(tmp_path, tmp_path, rows)
    assert found.outcome == "within noise"
    assert "of modern/rope 1 of 4 diverged, which its figures leave out" in found.reasons[0]
    # What speaks against it still does.
    write_run(tmp_path, "modern/nope", 4, state="diverged")
    against = "kind: superiority, rows: [table3/base, modern/nope]"
    assert verdict(tmp_path, tmp_path, against).outcome == "supported"


def test_a_row_that_diverged_is_held_against_as_many_seeds(tmp_path: Path) -> None:
    write_run(tmp_path, seed=1)
    for seed in (1, 2):
        write_run(tmp_path, "modern/rope", seed, state="diverged")
    found = verdict(tmp_path, tmp_path, "kind: superiority, rows: [table3/base, modern/rope]")
    assert found.outcome == "within noise"
    assert found.reasons == (
        "modern/rope diverged with 2 seeds; a second seed of the other row would show whether that is chance",
    )


def test_a_row_of_wide_spread_is_judged_by_it(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for number in range(8):
        for seed in (1, 2, 3):
            write_run(tmp_path, f"mine/r{number}", seed, outcome=result(60 + random.normal(0, 0.1)))
    for seed, bleu in enumerate((67.0, 60.0, 63.0), 1):
        write_run(tmp_path, "mine/wide", seed, outcome=result(bleu))
    found = verdict(tmp_path, tmp_path, "kind: superiority, rows: [mine/wide, mine/r0]")
    assert found.outcome == "within noise"
    assert "mine/wide counts by its own spread" in found.reasons[0]
    (finding,) = found.findings
    assert finding.seeds_needed is not None
    assert finding.seeds_needed > 3


def test_one_seed_a_row_decides_nothing_and_says_what_would(tmp_path: Path) -> None:
    plant(tmp_path, seeds=1)
    found = judged(tmp_path)
    assert "supported" not in {each.outcome for each in found.values()}
    assert "contradicted" not in {each.outcome for each in found.values()}
    assert found["heads"].reasons == (
        "no row has two seeds, so nothing can be concluded about seeds; run at least two seeds",
    )
    assert "diverged with 1 seed; a second seed would show" in found["warmup"].reasons[0]


def test_a_diverged_row_is_worse_than_one_that_finished(sixty: Path, tmp_path: Path) -> None:
    rows = f"[{DIVERGED}, table3/base]"
    assert verdict(sixty, tmp_path, f"kind: superiority, rows: {rows}").outcome == "contradicted"
    assert verdict(sixty, tmp_path, f"kind: no_worse, rows: {rows}, margin: 9").outcome == "contradicted"
    assert verdict(sixty, tmp_path, f"kind: equivalence, rows: {rows}, margin: 9").outcome == "contradicted"
    found = verdict(sixty, tmp_path, f"kind: superiority, rows: [table3/base, {DIVERGED}], margin: 9")
    assert found.outcome == "supported"
    assert found.reasons == (f"{DIVERGED} diverged with 3 seeds, the other row with none",)
    trend = f"kind: trend, rows: [{DIVERGED}, table3/base, table3/A_h1], along: [1, 2, 3]"
    assert verdict(sixty, tmp_path, trend).outcome == "not run"


def test_rows_are_found_by_overrides_and_two_of_one_name_are_not_judged(tmp_path: Path) -> None:
    for seed, noise in ((1, 0.0), (2, 0.2)):
        write_run(tmp_path, seed=seed, outcome=result(70 + noise))
        write_run(tmp_path, seed=seed, overrides=("model.heads=2",), outcome=result(60 - noise))
        for row_hash in ("aaaaaaaa", "bbbbbbbb"):
            write_run(tmp_path, "modern/rope", seed, row_hash=row_hash, outcome=result(65 + noise))
    test = "kind: superiority, rows: [table3/base, {}]"
    assert verdict(tmp_path, tmp_path, test.format("table3/base model.heads=2")).outcome == "supported"
    found = verdict(tmp_path, tmp_path, test.format("modern/rope"))
    assert found.outcome == "not run"
    assert found.reasons == ("modern/rope: two different rows have this name",)


@pytest.mark.parametrize("shared", ["", " optim.beta2=0.9"], ids=["unsaid", "said"])
def test_rows_are_found_whether_or_not_what_all_have_in_common_is_said(tmp_path: Path, shared: str) -> None:
    for seed, noise in ((1, 0.0), (2, 0.2)):
        for name, bleu in (("table3/base", 70.0), ("table3/A_h1", 60.0)):
            write_run(tmp_path, name, seed, overrides=("optim.beta2=0.9",), outcome=result(bleu + noise))
    test = f"kind: superiority, rows: [table3/base{shared}, table3/A_h1{shared}]"
    assert verdict(tmp_path, tmp_path, test).outcome == "supported"


def test_all_claims_of_a_file_are_one_family(sixty: Path, tmp_path: Path) -> None:
    """What is significant alone may not be so among twenty."""
    test = "kind: no_worse, rows: [modern/gqa, table3/base], margin: 0.31"
    alone = judged(sixty, own(tmp_path, test))["t0"]
    vague = "kind: no_worse, rows: [{}, {}], margin: 0.0001"
    rows = ("table3/base", "table3/D_ls00", "table3/E_learned")
    others = [vague.format(one, other) for one in rows for other in rows if one != other]
    among = judged(sixty, own(tmp_path, test, *others))["t0"]
    (one,), (many,) = alone.findings, among.findings
    assert one.p_holm is not None
    assert many.p_holm == pytest.approx(7 * one.p_holm)


def test_nothing_is_decided_between_equal_rows_however_many_are_compared(tmp_path: Path) -> None:
    """Sixty-six pairs of equal rows in one family: any verdict at all would be a false alarm."""
    random = np.random.default_rng(3)
    for number in range(12):
        for seed in (1, 2, 3):
            outcome = result(60 + random.normal(0, 0.3))
            write_run(tmp_path / "runs", f"mine/r{number}", seed, outcome=outcome)
    tests = [f"kind: superiority, rows: [mine/r{a}, mine/r{b}]" for a in range(12) for b in range(a)]
    outcomes = {each.outcome for each in judged(tmp_path / "runs", own(tmp_path, *tests)).values()}
    assert outcomes == {"within noise"}
