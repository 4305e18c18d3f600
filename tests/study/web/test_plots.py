"""What is plotted is what was measured."""

from __future__ import annotations

import re
from pathlib import Path

from tests.study.folders import config, result, scores, write_json, write_run
from tests.study.kept import write_kept
from tests.study.test_curves import HEAD
from xformer.study.collect import collect
from xformer.study.table import build_tables
from xformer.study.web.gallery import Gallery
from xformer.study.web.plots import galleries


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
    found = gallery(tmp_path)["Learning curves"]
    assert [view.name for view in found.views] == ["updates", "tokens", "FLOPs"]
    for view in found.views[:2]:
        together, base, rope = view.plots
        assert "all rows, on dev" in together
        assert "<figcaption>base</figcaption>" in base
        assert 'class="behind"' in rope
        assert 'class="behind"' not in base
    assert not found.open


def test_curves_by_flops_put_what_costs_twice_as_much_twice_as_far(tmp_path: Path) -> None:
    for name, flops in (("table3/base", 1e6), ("modern/rope", 2e6)):
        folder = write_run(tmp_path, name, outcome=result(flops_per_token=flops))
        (folder / "metrics.csv").write_text(f"{HEAD}1,100,0,5,5,1,1,1,9,1\n2,200,0,4,4,1,1,1,8,1\n")
    views = {view.name: view.plots for view in gallery(tmp_path)["Learning curves"].views}

    def ends(plot: str) -> list[list[float]]:
        lines = re.findall(r'<polyline class="(?:behind|main)" points="([^"]+)"', plot)
        return [[float(point.split(",")[0]) for point in line.split()] for line in lines]

    behind, own = ends(views["tokens"][-1])
    assert behind == own
    behind, own = ends(views["FLOPs"][-1])
    assert own[0] == behind[1]  # the first half of the one costs as much as all of the other
    assert own[1] > own[0] > behind[0]


def test_a_row_whose_cost_is_not_known_has_no_curve_by_flops_only(tmp_path: Path) -> None:
    for name, state in (("table3/base", "finished"), ("modern/rope", "interrupted")):
        folder = write_run(tmp_path, name, state=state)
        (folder / "metrics.csv").write_text(f"{HEAD}1,100,0,5,5,1,1,1,9,1\n2,200,0,4,4,1,1,1,8,1\n")
    views = {view.name: view.plots for view in gallery(tmp_path)["Learning curves"].views}
    assert len(views["FLOPs"]) == len(views["tokens"]) - 1


def test_a_row_that_changes_much_else_is_not_joined(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    write_run(tmp_path, "table3/A_h1", configuration=declared("table3/A_h1", "model.heads", "model.d_k"))
    many = declared("table3/big", "model.heads", "model.d_model", "model.d_ff")
    write_run(tmp_path, "table3/big", configuration=many)
    plots = gallery(tmp_path)["Scores against sizes"].plots
    (heads,) = (plot for plot in plots if "test BLEU against heads<" in plot)
    assert heads.count('<circle class="main"') == 2
    assert heads.count('<circle class="other"') == 1


def test_a_dev_perplexity_of_one_is_drawn(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "table3/base")
    (folder / "metrics.csv").write_text(f"{HEAD}1,10,0,5,5,1,1,1,9,1\n2,20,0,4,4,1,1,1,1.0,1\n")
    other = write_run(tmp_path, "modern/rope")
    (other / "metrics.csv").write_text((folder / "metrics.csv").read_text())
    together, base, _ = gallery(tmp_path)["Learning curves"].views[0].plots
    assert "base: dev 0.000<" in base
    assert together.count("<polyline") == 2


def test_speed_and_memory_stand_against_what_they_follow_from(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base")
    big = result(flops_per_token=5e6, parameters=2_000_000, train_tokens_per_second=500.0)
    write_run(tmp_path, "table3/big", outcome=big)
    plots = "".join(gallery(tmp_path)["Training speed and memory"].plots)
    assert "training tokens/s against FLOPs per token" in plots
    assert "peak memory in MiB against parameters" in plots
    assert "big: 500<" in plots
    assert "base: 512<" in plots


def test_kept_counts_give_bleu_by_length_without_an_evaluation(tmp_path: Path) -> None:
    for name in ("table3/base", "modern/rope"):
        write_kept(tmp_path, name, 1)
    (plot,) = gallery(tmp_path)["BLEU by sentence length"].plots
    assert plot.count("<polyline") == 2
    assert plot.index('class="other"') < plot.index('class="main"')


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
    assert "base: 45.0 from 1<" in plot
    assert "base: 25.0 from 11<" in plot


def test_measured_is_set_against_printed(tmp_path: Path) -> None:
    write_run(tmp_path, "table3/base", outcome=result(60))
    write_run(tmp_path, "table3/big", outcome=result(65))
    plots = gallery(tmp_path)["Scores against the paper's"].plots
    assert "big: 65.00 at 26.4" in plots[0]
    assert len(plots) == 2


def test_nothing_finished_is_nothing_to_plot(tmp_path: Path) -> None:
    write_run(tmp_path, state="failed")
    assert gallery(tmp_path) == {}
