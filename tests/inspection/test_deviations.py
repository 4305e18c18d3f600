"""Where a configuration leaves the paper is said in full, with the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from xformer.config.compose import compose_job
from xformer.config.differences import ABSENT
from xformer.inspection.deviations import Deviation, deviations, left_open, misdeclared, paper_config
from xformer.study.paper import paper_rows


def found(*overrides: str) -> dict[str, Deviation]:
    return {each.key: each for each in deviations(compose_job(list(overrides)))}


def test_the_reference_is_what_the_paper_prints() -> None:
    config, (base, *_) = paper_config(), paper_rows()
    model, optim = config.model, config.optim
    assert (model.layers, model.d_model, model.d_ff, model.heads, model.d_k, model.d_v) == (
        base.layers, base.d_model, base.d_ff, base.heads, base.d_k, base.d_v
    )  # fmt: skip
    assert (model.dropout, model.attention.dropout, model.feedforward.dropout) == (0.1, 0.0, 0.0)
    assert (model.placement.kind, model.norm.kind, model.feedforward.kind) == ("post", "layernorm", "relu")
    assert (model.position.kind, model.tying, model.embedding_scale) == ("sinusoidal", "three_way", True)
    assert (optim.beta1, optim.beta2, optim.epsilon, optim.gradient_clip) == (0.9, 0.98, 1e-9, None)
    assert (optim.warmup_updates, optim.learning_rate_multiplier, optim.label_smoothing) == (4000, 1.0, 0.1)
    assert (config.batch.tokens_per_update, config.tokenizer.vocabulary) == (25_000, 37_000)
    assert (config.trainer.updates, config.decode.beam, config.decode.alpha) == (base.updates, 4, 0.6)
    assert (config.decode.extra_length, config.decode.average) == (50, 1)


def test_the_base_row_at_the_papers_scale_is_the_paper() -> None:
    assert found("experiments=table3/base", "scale=paper") == {}


def test_a_key_of_the_row_is_laid_to_the_row_and_one_of_the_command_to_the_command() -> None:
    here = found("experiments=table3/A_h4", "scale=paper", "optim.beta2=0.99", "model/position=learned")
    assert (here["model.heads"].here, here["model.heads"].paper) == (4, 8)
    assert here["model.heads"].causes == ("table3/A_h4 changes it",)
    assert here["optim.beta2"].causes == ("set on the command line",)
    assert here["model.position.kind"].causes == ("set on the command line",)
    assert here["model.position.layout"].here == ABSENT
    assert here["model.key_value_heads"].causes == ("follows model.heads",)


def test_what_the_paper_leaves_open_is_not_laid_to_the_paper() -> None:
    here = found("scale=paper", "model.attention.bias=false", "optim.beta2=0.9")
    assert (here["model.attention.bias"].open, here["optim.beta2"].open) == (True, False)


def test_the_scale_is_named_as_a_cause_only_where_it_changes_the_value() -> None:
    here = found("experiments=table3/D_drop02", "scale=tiny")
    assert here["model.d_model"].causes == ("scale=tiny",)
    assert here["model.dropout"].causes == ("table3/D_drop02 changes it",)


def test_a_row_whose_size_happens_to_be_the_papers_at_a_small_scale_is_still_told() -> None:
    """A_h1 has d_k = 512, at scale=tiny 64: the number of the paper's base, by accident."""
    here = found("experiments=table3/A_h1", "scale=tiny")["model.d_k"]
    assert (here.here, here.at_paper_scale, here.paper) == (64, 512, 64)
    assert here.causes == ("scale=tiny", "table3/A_h1 changes it")


@pytest.mark.parametrize(
    "override",
    ["trainer.threads=1", "seed=3", "runs_dir=x", "tracking=none", "model.attention.kernel=fused",
     "decode.tokens_per_batch=9"],
)  # fmt: skip
def test_what_changes_no_result_is_no_difference(override: str) -> None:
    assert found("scale=paper", override) == {}


def test_every_key_of_the_paper_that_differs_has_a_reason_with_its_section() -> None:
    here = found(
        "experiments=table3/big", "model/norm=rmsnorm", "model/placement=pre", "model/position=learned",
        "model/feedforward=gelu", "model.tying=none", "model.embedding_scale=false", "optim.beta1=0.8",
        "optim.gradient_clip=1.0", "optim.epsilon=1e-8", "decode.beam=1", "decode.average=2",
        "trainer.precision=bf16", "model.attention.bias=false", "model.attention.dropout=0.1",
    )  # fmt: skip
    assert {"model.norm.kind", "model.placement.kind", "decode.average", "optim.epsilon"} <= set(here)
    for each in here.values():
        assert each.reason, each.key
        assert each.section[0].isdigit(), each.key


def test_what_the_paper_leaves_open_is_told_with_our_value() -> None:
    here = {each.what: each for each in left_open(compose_job(["model.norm.epsilon=1e-5"]).config)}
    assert here["model.norm.epsilon"].here == 1e-5
    assert here["model.attention.bias"].here is True
    assert "norm after the last layer" in here
    # A key that another choice does not have is passed over.
    assert "model.norm.bias" not in {
        each.what for each in left_open(compose_job(["model/norm=rmsnorm"]).config)
    }


def test_an_undeclared_change_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    text = "# @package _global_\nchanges: [model.heads]\nmodel:\n  heads: 4\n  dropout: 0.3\n"
    (tmp_path / "experiments" / "mine.yaml").write_text(text)
    job = compose_job(["experiments=mine", "optim.beta2=0.9"], config_dir=tmp_path)
    changed = misdeclared(job, tmp_path)
    assert [each.key for each in changed] == ["model.dropout"]
    (dropout,) = (each for each in deviations(job, changed) if each.key == "model.dropout")
    assert dropout.causes == ("mine changes it WITHOUT DECLARING IT",)
    assert misdeclared(compose_job(["model.dropout=0.3"])) == []
