"""Rows become samples, paired over sentences where they can be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.study.kept import REFERENCES, outputs, write_kept
from xformer.scoring.corpus import statistics
from xformer.study.collect import collect
from xformer.study.measured import Measured
from xformer.study.metric import Metric
from xformer.study.statistics.bootstrap import resampled_bleu
from xformer.study.statistics.contrast import Contrast
from xformer.study.table import build_tables

TEST_BLEU = Metric("test", "bleu")


def measured(root: Path, metric: Metric = TEST_BLEU) -> Measured:
    (table,), _ = build_tables(collect(root))
    return Measured(table.rows, metric)


def test_a_rows_resamples_are_the_mean_over_its_seeds(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_kept(tmp_path, "table3/base", seed)
    write_kept(tmp_path, "modern/rope", 1, lost=0.1)
    sample = measured(tmp_path).samples["table3/base"]
    counts = [statistics(outputs(seed + 1100), REFERENCES) for seed in (1, 2)]
    assert sample.resampled is not None
    np.testing.assert_allclose(sample.resampled, resampled_bleu(np.stack(counts)).mean(axis=1))
    assert sample.resampled.mean() == pytest.approx(sample.mean, abs=0.3)


def test_a_difference_has_both_parts(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_kept(tmp_path, "table3/base", seed)
        write_kept(tmp_path, "modern/rope", seed, lost=0.15)
    found = measured(tmp_path).contrast({"modern/rope": 1, "table3/base": -1})
    assert isinstance(found, Contrast)
    error = found.uncertainty
    assert error.degrees_of_freedom == 4
    assert error.sentences is not None
    assert 0.1 < error.sentences < 3
    assert error.half() > max(error.seeds_half(), error.sentences_half() or 0)


def test_sentences_are_unknown_where_one_run_kept_no_counts(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_kept(tmp_path, "table3/base", seed)
        write_kept(tmp_path, "modern/rope", seed, keep=seed == 1)
    samples = measured(tmp_path).samples
    assert samples["table3/base"].resampled is not None
    assert samples["modern/rope"].resampled is None
    assert samples["modern/rope"].seeds == 2


def test_counts_against_other_references_are_not_paired(tmp_path: Path) -> None:
    write_kept(tmp_path, "table3/base", 1)
    write_kept(tmp_path, "modern/rope", 1, references=[*REFERENCES[1:], "One more."])
    samples = measured(tmp_path).samples
    assert samples["table3/base"].resampled is not None
    assert samples["modern/rope"].resampled is None


def test_rows_without_a_score_are_no_samples(tmp_path: Path) -> None:
    write_kept(tmp_path, "table3/base", 1)
    assert set(measured(tmp_path).samples) == {"table3/base"}
    assert measured(tmp_path, Metric("long", "bleu")).samples == {}
