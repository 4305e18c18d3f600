"""Secrets never reach a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.study.folders import write_failed, write_run
from xformer.study.collect import collect
from xformer.study.secrets import without_secret


@pytest.mark.parametrize("key", ["tracking.api_key", "wandb.apikey", "x.password", "aws_secret_access_key"])
def test_values_of_secret_keys_are_hidden(key: str) -> None:
    assert without_secret(f"+{key}=hunter2\nand more") == f"+{key}=…"


@pytest.mark.parametrize("plain", ["batch.tokens_per_update=300", "model.key_value_heads=2", "seed"])
def test_ordinary_keys_are_shown(plain: str) -> None:
    assert without_secret(plain) == plain


def test_they_are_hidden_where_runs_are_read_so_that_no_output_has_them(tmp_path: Path) -> None:
    write_run(tmp_path, "custom", overrides=("+tracker.api_key=hunter2",))
    write_failed(tmp_path, "custom", "+tracker.api_key=hunter2", reason="x")
    assert [run.overrides for run in collect(tmp_path)] == [("+tracker.api_key=…",)] * 2
