"""The command itself: what it prints, how it ends, how long it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.system.commands import Command
from xformer.study.paper import paper_rows


def test_a_row_is_printed_under_the_tables_own_names(xformer: Command) -> None:
    (row,) = (row for row in paper_rows() if row.experiment == "B_dk16")
    ended = xformer("inspect", "experiments=table3/B_dk16", "scale=paper", "--json")
    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout)
    sizes = ("layers", "d_model", "d_ff", "heads", "d_k", "d_v")
    for name in (*sizes, "dropout", "label_smoothing", "position", "updates"):
        assert printed[name] == getattr(row, name), name
    assert printed["vocabulary"] == 37000
    assert printed["parameters"] == printed["parameters_closed_form"]
    counted = printed["parameters_by_part_counted"]
    assert {part: size for part, size in printed["parameters_by_part"].items() if size} == counted
    assert sum(printed["parameters_by_part"].values()) == printed["parameters"]
    costs = printed["flops_per_source_token"], printed["flops_per_target_token"]
    assert printed["flops_per_training_token"] == 3 * sum(costs) / 2
    assert printed["flops_of_training"] == 3 * sum(costs) * 25_000 * 100_000
    assert printed["disk"] == {"checkpoint": 12 * printed["parameters"], "checkpoints_kept": 5}
    assert printed["key_value_cache"]["bytes"]["fp32"]["per_target_token"] == 6 * 8 * (16 + 64) * 4
    assert printed["training_memory"]["adam_moments"] == 8 * printed["parameters"]
    assert printed["tensors"]["blocks"][-1]["rows"][-1]["letters"] == ["B T W"]
    assert [each["key"] for each in printed["deviations"]] == ["model.d_k"]
    assert printed["undeclared"] == []
    assert {"left_open", "always_different"} <= set(printed)


def test_the_text_has_every_section(xformer: Command) -> None:
    ended = xformer("inspect", "model/position=learned", "trainer.precision=bf16")
    assert ended.returncode == 0, ended.stderr
    headings = ("Parameters", "Floating-point operations", "Keys and values", "ESTIMATES", "Disk", "Tensors",
                "Differences from the paper", "Left open by the paper", "every configuration")  # fmt: skip
    for heading in headings:
        assert heading in ended.stdout
    for part in ("decoder.position", "bytes in bf16", "× 3", "B S H·K × 2", "set on the command line"):
        assert part in ended.stdout
    assert all(len(line) <= 120 for line in ended.stdout.splitlines())


def test_two_experiments_are_compared_without_torch(xformer: Command) -> None:
    ended = xformer(
        "inspect", "--diff", "table3/base", "table3/C_n2", "scale=paper", PYTHONPROFILEIMPORTTIME="1"
    )
    assert ended.returncode == 0, ended.stderr
    assert "model.layers" in ended.stdout
    assert "63,082,496" in ended.stdout
    modules = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if "import time" in line}
    assert "xformer.inspection.compare" in modules
    assert "torch" not in modules


def test_a_comparison_is_one_object_in_json(xformer: Command) -> None:
    ended = xformer("inspect", "--diff", "table3/base", "table3/D_ls00", "--json")
    assert json.loads(ended.stdout)["differences"] == [
        {"key": "optim.label_smoothing", "left": 0.1, "right": 0.0}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--diff", "table3/base", "table3/A_h3"), "no such choice; did you mean table3/A_h32?"),
        (("--diff", "table3/base"), "--diff: expected 2 arguments"),
        (("experiments=table3/A_h3",), "no such choice"),
    ],
)
def test_an_unknown_experiment_is_refused(xformer: Command, arguments: tuple[str, ...], message: str) -> None:
    ended = xformer("inspect", *arguments)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not ended.stdout


def test_an_experiment_that_declares_too_little_is_described_and_refused(
    xformer: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine" / "experiments").mkdir(parents=True)
    text = "# @package _global_\nchanges: []\nmodel:\n  dropout: 0.3\n"
    (tmp_path / "mine" / "experiments" / "row.yaml").write_text(text)
    ended = xformer("inspect", "experiments=row", "--config-dir", "mine", "--json")
    assert ended.returncode == 2
    assert "experiments=row: changes what its file does not declare" in ended.stderr
    assert "model.dropout: 0.1 → 0.3" in ended.stderr
    assert json.loads(ended.stdout)["undeclared"] == [{"key": "model.dropout", "base": 0.1, "here": 0.3}]
