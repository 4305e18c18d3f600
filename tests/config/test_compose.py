"""What a command line says is what is run, and a wrong one is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from xformer.config import schema
from xformer.config.compose import compose, plan
from xformer.config.overrides import quote
from xformer.errors import UserError


def test_the_default_is_the_base_row_on_the_built_in_language() -> None:
    config = compose([])
    assert (config.scale.name, config.data.kind) == ("tiny", "grammar")
    assert isinstance(config.model.placement, schema.PostPlacement)
    assert isinstance(config.model.position, schema.SinusoidalPosition)


def test_a_run_is_named_after_its_experiment_or_else_custom() -> None:
    assert compose(["experiments=table3/A_h1"]).experiment == "table3/A_h1"
    assert compose(["model.dropout=0.2"]).experiment == "custom"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.hedas=3", "model.hedas: no such key; did you mean model.heads?"),
        ("+model.hedas=3", "model.hedas: no such key; did you mean model.heads?"),
        ("++model.hedas=3", "model.hedas: no such key; did you mean model.heads?"),
        ("+modle.heads=4", "modle: no such key; did you mean model?"),
        ("model.dropout=nan", "model.dropout: must be a finite number, not nan"),
        ("model.dropout=inf", "model.dropout: must be a finite number, not inf"),
        ("model.dropout=1.0", "model.dropout: must be less than 1, not 1.0"),
        ("model.d_model=abc", "model.d_model: must be a whole number, not 'abc'"),
        ("trainer.updates=10.5", "trainer.updates: must be a whole number, not 10.5"),
        ("trainer.updates=true", "trainer.updates: must be a whole number, not true"),
        ("model.layers=100000", "model.layers: must be less than or equal to 1000, not 100000"),
        ("decode.beam=1000000000", "decode.beam: must be less than or equal to 1000, not 1000000000"),
        ("model.layers=0", "model.layers: must be greater than or equal to 1, not 0"),
        (
            f"trainer.updates={10**30}",
            "trainer.updates: must be less than or equal to 1000000000000000, not 1",
        ),
        ("model.embedding_scale=3", "model.embedding_scale: must be true or false, not 3"),
        ("model.tying=two", "model.tying: must be 'three_way', 'target' or 'none', not 'two'"),
        ("scale=medium", "scale=medium: no such choice; there are: mini, paper, small, tiny"),
        ("experiments=table3/A_h3", "experiments=table3/A_h3: no such choice; did you mean table3/A_h32?"),
        ("experiments=", "experiments='': no such choice; there are: lineage/"),
        ("experiments=[table3/base,table3/big]", "experiments: takes the name of one choice, not a list"),
        ("data=", "data='': no such choice; there are: files, grammar"),
        ("hydra/launcher=nope", "hydra/launcher=nope: no such choice; there are: basic, gpus, joblib"),
        ("runs_dir=/x/Größe", "where it holds brackets, = or letters beyond a to z"),
        ("model/position=lerned", "model/position=lerned: no such choice; did you mean learned?"),
        ("model.position=learned", "to choose a group write model/position=learned"),
        ("model/positoin=learned", "model/positoin: no such key; did you mean model/position?"),
        ("model.position.max_length=9", "model.position.max_length: has no effect here"),
        ("scale.width=1/3", "512 times 1/3 is 512/3, not a whole number"),
        ("seed='${times:x,2}'", "Invalid literal for Fraction: 'x'"),
        (f"seed={'x' * 999}", f"seed: must be a whole number, not '{'x' * 78}…"),
        ("scale.width=-1", "scale.width: must be a positive ratio such as 1 or 1/4"),
        ("data=files", "data.dir: is missing; give data.dir=VALUE"),
        ("model.d_k=${model.d_kk}", "model.d_k: Interpolation key 'model.d_kk' not found"),
        ("seed=-1", "seed: must be greater than or equal to 0"),
        ("nonsense", "'nonsense': write KEY=VALUE"),
        ("model.key_value_heads=3", "model.key_value_heads: 3 does not divide model.heads = 8"),
        ("model.d_model=65", "model.d_model: 65 is odd"),
        ("batch.tokens_per_device=100", "batch.tokens_per_device: 100 is less than data.max_length"),
        ("tokenizer.vocabulary=200", "tokenizer.vocabulary: 200 is less than 260"),
        ("decode.average=6", "decode.average: 6 is more than trainer.keep_checkpoints = 5"),
    ],
)
def test_a_wrong_override_is_refused_with_the_key_and_what_is_allowed(override: str, message: str) -> None:
    with pytest.raises(UserError) as refusal:
        compose([override])
    assert message in str(refusal.value)
    assert "Traceback" not in str(refusal.value)


def test_several_values_without_a_multirun_are_refused_with_what_to_add() -> None:
    with pytest.raises(UserError, match="several values; add -m for one run each"):
        plan(["seed=1,2"])


def test_every_wrong_key_is_named_at_once() -> None:
    with pytest.raises(UserError) as refusal:
        compose(["model.dropout=2.0", "model.layers=0", "+model.hedas=1"])
    assert len(str(refusal.value).splitlines()) == 3


def test_a_missing_value_that_only_the_last_step_needs_is_noticed_at_once() -> None:
    with pytest.raises(UserError, match=r"decode\.alpha: is missing"):
        compose(["decode.alpha=???"])


def test_a_sweep_file_gives_its_jobs_without_a_flag() -> None:
    planned = plan(["sweeps=table3"])
    assert planned.sweep
    assert len({job.config.experiment for job in planned.jobs}) == 20


def test_several_values_give_every_combination_in_order() -> None:
    planned = plan(["seed=1,2", "model.heads=4,8"], multirun=True)
    assert [(job.config.seed, job.config.model.heads) for job in planned.jobs] == [
        (1, 4),
        (1, 8),
        (2, 4),
        (2, 8),
    ]


def test_seeds_of_a_row_are_what_each_would_be_alone(tmp_path: Path) -> None:
    words = ["experiments=table3/base,table3/C_n2", "seed=1,2,07"]
    with pytest.raises(UserError, match="seed: must be a whole number, not '07'"):
        plan(words, multirun=True)
    jobs = plan([words[0], "seed=1,2,3", "model.dropout=0.2"], multirun=True).jobs
    assert len({job.config for job in jobs}) == 6
    for job in jobs:
        assert job.config == compose(list(job.overrides))
        assert job.written.seed == job.config.seed
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.yaml").write_text(
        "# @package _global_\nchanges: [optim.warmup_updates]\noptim: {warmup_updates: '${seed}'}\n"
    )
    mine = plan(["experiments=mine", "seed=5,6"], multirun=True, config_dir=tmp_path).jobs
    assert [job.config.optim.warmup_updates for job in mine] == [5, 6]


def test_the_command_overrules_the_sweep_file() -> None:
    assert [
        job.config.seed for job in plan(["sweeps=table3", "experiments=table3/base", "seed=4,5"]).jobs
    ] == [4, 5]


def test_an_error_in_the_last_job_of_a_sweep_is_found_before_the_first_starts() -> None:
    with pytest.raises(UserError, match=r"(?s)model\.dropout.*nothing was started"):
        plan(["seed=1,2,3", "model.dropout=0.1,0.2,1.5"], multirun=True)


def test_experiments_of_ones_own_are_found_in_a_folder_with_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "it's 100% mine, really"
    (folder / "experiments").mkdir(parents=True)
    text = "# @package _global_\nchanges: [model.heads]\nmodel:\n  heads: 2\n"
    (folder / "experiments" / "mine.yaml").write_text(text)
    assert compose(["experiments=mine"], config_dir=folder).model.heads == 2
    assert compose(["experiments=table3/base"], config_dir=folder).model.heads == 8
    with pytest.raises(UserError, match="no such folder"):
        compose([], config_dir=tmp_path / "nowhere")
    with pytest.raises(
        UserError, match=r"experiments=mime: no such choice; did you mean mine\?.* table3/base"
    ):
        compose(["experiments=mime"], config_dir=folder)


@pytest.mark.parametrize("text", ["a b", "it's", "100%", "a,b=c", "C:\\x", "ü/{}[]", "$x"])
def test_a_quoted_value_arrives_as_it_was(text: str) -> None:
    assert compose([f"runs_dir={quote(text)}"]).runs_dir == text


def test_an_experiment_may_set_any_key_and_the_command_overrules_it(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    text = "# @package _global_\nchanges: [batch, seed]\nseed: 7\nbatch:\n  tokens_per_update: 500\n"
    (tmp_path / "experiments" / "mine.yaml").write_text(text)
    config = compose(["experiments=mine"], config_dir=tmp_path)
    assert (config.changes, config.seed, config.batch.tokens_per_update) == (("batch", "seed"), 7, 500)
    assert compose(["experiments=mine", "seed=3"], config_dir=tmp_path).seed == 3


@pytest.mark.parametrize(
    "name",
    [
        "../experiments/table3/base",
        "./table3/base",
        "table3//base",
        "table3/base.yaml",
        "table3/../table3/base",
    ],
)
def test_an_experiment_has_one_name_and_its_runs_one_place(name: str) -> None:
    with pytest.raises(UserError, match="no such choice"):
        compose([f"experiments={name}"])


@pytest.mark.parametrize(
    "word", ["experiments=table3/base,table3/big", "seed=range(1,4)", "seed=choice(1,2)"]
)
def test_several_values_are_refused_where_one_configuration_is_asked_for(word: str) -> None:
    with pytest.raises(UserError, match=r"several values where one configuration is asked for; give one$"):
        compose([word])


def test_runs_of_a_sweep_file_are_a_group_on_the_dashboard_unless_the_user_names_one() -> None:
    def groups(*overrides: str) -> set[str | None]:
        jobs = plan([*overrides]).jobs
        return {getattr(job.config.tracking, "group", None) for job in jobs}

    assert groups("sweeps=table3") == {"table3"}
    assert groups("sweeps=table3", "tracking.group=mine") == {"mine"}
    assert groups("sweeps=table3", "tracking=tensorboard") == {None}
    assert groups("seed=1,2", "hydra.mode=MULTIRUN") == {None}
