"""What is plotted is what was measured."""

from __future__ import annotations

from pathlib import Path

from tests.study.folders import config, result, scores, write_json, write_run
from tests.study.test_curves import HEAD
from xformer.study.collect import collect
from xformer.study.table import build_tables
from xformer.study.web.plots import Gallery, galleries


def gallery(root: Path) -> dict[str, Gallery]:
    (table,), _ = build_tables(collect(root))
    return {each.title: each for each in galleries(table)}


def declared(experiment: str, *changes: str) -> dict[str, object]:
    return config(experiment, changes=list(changes))


def test_rows_that_declare_a_size_are_joined_with_the_base(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1", configuration=declared("table3/A_h1", "model.heads", "model.d_k"))
    write_run(tmp_path, "table3/A_h32", configuration=declared("table3/A_h32"))
    plots = gallery(tmp_path)["Scores against sizes"].plots
    (heads,) = (plot for plot in plots if "test BLEU against heads<" in plot)
    assert heads.count('<polyline class="main"') == 1
    assert heads.count('<circle class="main"') == 2
    assert heads.count('<circle class="other"') == 1
    assert "A_h1: 69.00 at 1<" in heads


def test_sizes_that_do_not_vary_are_not_plotted(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1")
    plots = "".join(gallery(tmp_path)["Scores against sizes"].plots)
    assert "against heads" in plots
    assert "against layers" not in plots


def test_curves_are_drawn_for_rows_that_have_one_even_if_unfinished(tmp_path: Path) -> None:
    for name, state in (("table3/base", "finished"), ("modern/rope", "diverged"), ("modern/gqa", "finished")):
        folder = write_run(tmp_path, name, state=state)
        if name != "modern/gqa":
            (folder / "metrics.csv").write_text(f"{HEAD}1,10,0,5,5,1,1,1,9,1\n2,20,0,4,4,1,1,1,8,1\n")
    found = gallery(tmp_path)
    for title in ("Learning curves by updates", "Learning curves by tokens"):
        base, rope = found[title].plots
        assert "<figcaption>base</figcaption>" in base
        assert 'class="behind"' in rope
        assert 'class="behind"' not in base
        assert not found[title].open


def test_scores_by_length_are_means_over_seeds_of_the_own_decoding(tmp_path: Path) -> None:
    for seed, bleu in ((1, 40.0), (2, 50.0)):
        folder = write_run(tmp_path, seed=seed)
        (folder / "evaluations").mkdir()
        buckets = [
            {"from": 1, "to": 10, "beyond_training": False, "sentences": 5, "bleu": bleu},
            {"from": 11, "to": None, "beyond_training": True, "sentences": 5, "bleu": bleu - 20},
        ]
        kept = {"beam": 4, "alpha": 0.6, "extra_length": 50, "averaged_checkpoints": 1}
        splits = {"long": scores(bleu, 3.0, by_source_length=buckets)}
        write_json(folder / "evaluations" / "a.json", kept | {"splits": splits})
        write_json(folder / "evaluations" / "0.json", kept | {"beam": 1, "splits": splits})
    (plot,) = gallery(tmp_path)["BLEU by source length"].plots
    assert "base: 45.0 from 1 tokens" in plot
    assert "base: 25.0 from 11 tokens" in plot


def test_measured_is_set_against_printed(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base", outcome=result(60))
    write_run(tmp_path, "table3/big", outcome=result(65))
    plots = gallery(tmp_path)["Scores against the paper's"].plots
    assert "big: 65.00 at 26.4" in plots[0]
    assert len(plots) == 2


def test_nothing_finished_is_nothing_to_plot(tmp_path: Path) -> None:
    write_run(tmp_path, state="failed")
    assert gallery(tmp_path) == {}
