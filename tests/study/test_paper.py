"""The embedded copy of Table 3."""

from __future__ import annotations

import pytest

from xformer.config.compose import compose
from xformer.study.paper import PaperRow, paper_rows

ROWS = {row.experiment: row for row in paper_rows()}


def test_there_are_twenty_rows_in_the_order_of_the_paper() -> None:
    letters = [row.paper_row for row in paper_rows()]
    assert len(letters) == len(ROWS) == 20
    assert list(dict.fromkeys(letters)) == ["base", "A", "B", "C", "D", "E", "big"]


def test_figures_are_those_that_the_paper_prints() -> None:
    base, big = ROWS["base"], ROWS["big"]
    assert (base.dev_ppl, base.dev_bleu, base.params_millions, base.updates) == (4.92, 25.8, 65, 100_000)
    assert (big.dev_ppl, big.dev_bleu, big.params_millions, big.updates) == (4.33, 26.4, 213, 300_000)
    assert (big.d_model, big.d_ff, big.heads, big.dropout) == (1024, 4096, 16, 0.3)


def test_heads_times_d_k_stays_d_model_in_row_a_only() -> None:
    for row in paper_rows():
        assert (row.heads * row.d_k == row.d_model) == (row.paper_row != "B"), row
        assert row.heads * row.d_v == row.d_model, row


def test_a_count_that_the_paper_does_not_print_is_none_and_not_the_base_count() -> None:
    assert ROWS["A_h1"].params_millions is None
    assert sum(row.params_millions is not None for row in paper_rows()) == 11


def test_perplexity_and_bleu_rank_the_rows_differently() -> None:
    by_perplexity = sorted(ROWS, key=lambda name: ROWS[name].dev_ppl)
    by_bleu = sorted(ROWS, key=lambda name: -ROWS[name].dev_bleu)
    assert by_perplexity.index("D_ls00") == 2
    assert by_bleu.index("D_ls00") >= 12


def test_a_row_is_named_as_on_the_command_line() -> None:
    assert ROWS["B_dk16"].name == "table3/B_dk16"


@pytest.mark.parametrize("row", paper_rows(), ids=lambda row: row.experiment)
def test_every_experiment_at_the_papers_scale_is_the_papers_row(row: PaperRow) -> None:
    config = compose([f"experiments={row.name}", "scale=paper"])
    model = config.model
    assert {
        "layers": model.layers,
        "d_model": model.d_model,
        "d_ff": model.d_ff,
        "heads": model.heads,
        "d_k": model.d_k,
        "d_v": model.d_v,
        "dropout": model.dropout,
        "label_smoothing": config.optim.label_smoothing,
        "position": model.position.kind,
        "updates": config.trainer.updates,
    } == {
        "layers": row.layers,
        "d_model": row.d_model,
        "d_ff": row.d_ff,
        "heads": row.heads,
        "d_k": row.d_k,
        "d_v": row.d_v,
        "dropout": row.dropout,
        "label_smoothing": row.label_smoothing,
        "position": row.position,
        "updates": row.updates,
    }
