"""Which keys differ between two run folders, whatever version wrote them."""

from __future__ import annotations

from pathlib import Path

from tests.study.folders import config, write_run
from xformer.study.differing import config_differences


def test_keys_that_differ_are_named_with_both_values(tmp_path: Path) -> None:
    base = write_run(tmp_path)
    other = config("table3/A_h1", 2, tracking__kind="wandb")
    row = write_run(tmp_path, "table3/A_h1", 2, configuration=other)
    assert set(config_differences(base, row)) == {
        ("model.heads", "8", "1"),
        ("model.d_k", "8", "64"),
        ("model.d_v", "8", "64"),
    }
    assert config_differences(base, base) == ()


def test_keys_of_one_side_only_and_values_without_a_number(tmp_path: Path) -> None:
    base = write_run(tmp_path)
    row = write_run(tmp_path, "mine", configuration=config("mine", optim__clip=None, model__bias=True))
    found = config_differences(base, row)
    assert ("optim.clip", "–", "null") in found
    assert ("model.bias", "–", "true") in found


def test_secrets_stay_hidden_and_broken_files_give_nothing(tmp_path: Path) -> None:
    base = write_run(tmp_path)
    row = write_run(tmp_path, "mine", configuration=config("mine", data__api_key="hunter2"))
    assert ("data.api_key", "–", "…") in config_differences(base, row)
    for broken in ("{", "- 1\n", "a: &a [*a]\n", "\0"):
        (row / "config.yaml").write_text(broken)
        config_differences(base, row)
    (row / "config.yaml").unlink()
    assert config_differences(base, row) == ()
