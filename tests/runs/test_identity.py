"""A run is known by all that can change its result, and by nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from typing import Annotated

import pytest
from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from xformer.config.compose import compose
from xformer.runs.identity import (
    Identity,
    decoding_hash,
    essence,
    identify,
    repeatable,
    safe_name,
    telling,
)


def identity(*overrides: str, data_hash: str = "d", tokenizer_hash: str = "t") -> Identity:
    config = compose(list(overrides))
    return identify(config, data_hash=data_hash, tokenizer_hash=tokenizer_hash, data_name="grammar")


@pytest.mark.parametrize(
    "override",
    [
        "model.dropout=0.2",
        "model/position=learned",
        "optim.label_smoothing=0.0",
        "trainer.updates=7",
        "trainer.precision=bf16",
        "trainer.compile=off",
        "batch.tokens_per_device=999",
        "batch.tokens_per_update=999",
        "data.max_length=100",
        "seed=2",
    ],
)
def test_what_can_change_the_result_makes_another_run(override: str) -> None:
    assert identity(override).run_hash != identity().run_hash


@pytest.mark.parametrize(
    "override",
    [
        "experiments=table3/base",
        "runs_dir=elsewhere",
        "cache_dir=elsewhere",
        "tracking=none",
        "trainer.devices=2",
        "trainer.threads=1",
        "trainer.log_every=1",
        "decode.beam=1",
        "data.test_pairs=7",  # the text is known by its content
    ],
)
def test_what_cannot_change_the_result_makes_the_same_run(override: str) -> None:
    found, expected = identity(override), identity()
    assert (found.run_hash, found.row_hash, found.name) == (
        expected.run_hash,
        expected.row_hash,
        expected.name,
    )


def test_another_text_or_tokenizer_makes_another_run() -> None:
    assert len({identity(**{key: "x"}).run_hash for key in ("data_hash", "tokenizer_hash")}) == 2
    assert identity(data_hash="x").run_hash != identity().run_hash


def test_seeds_share_their_row() -> None:
    assert identity("seed=2").row_hash == identity("seed=1").row_hash
    assert identity("model.dropout=0.2").row_hash != identity().row_hash


def test_two_rows_of_one_configuration_are_two_runs() -> None:
    one, other = identity("experiments=modern/nope"), identity("experiments=pitfalls/no_positions")
    assert one.run_hash == other.run_hash
    assert one.run_id != other.run_id
    assert re.fullmatch(r"[A-Za-z0-9._-]+", one.run_id), "an id that every tracker takes"


def test_the_words_of_a_run_name_no_place_of_a_machine() -> None:
    kept = ["experiments=table3/base", "seed=3", "data=files", "data.source=en", "decode.beam=1"]
    places = ["runs_dir=x", "tracking=none", "hydra/launcher=joblib", "sweeps=ablate", "+done_dir=x"]
    assert repeatable([*kept, "data.dir=/home/me/text", *places]) == [*kept, "data.dir=DIR"]
    assert repeatable(["data.repository='/mnt/copy'"]) == ["data.repository=DIR"]
    assert repeatable(["data.repository=wmt/wmt14"]) == ["data.repository=wmt/wmt14"]


def test_a_folder_name_is_a_plain_word() -> None:
    config = compose([])
    named = identify(config, data_hash="d", tokenizer_hash="t", data_name="my data, v=2 50%")
    assert named.name.startswith("tiny-my_data_v_2_50_-s1-")
    assert not set(" =,%'\"$") & set(named.name)
    assert safe_name("a/b c") == "a_b_c"


def test_a_key_added_later_enters_only_where_it_differs_from_the_time_before_it() -> None:
    @settings(frozen=True, kw_only=True)
    class Old:
        heads: int

    @settings(frozen=True, kw_only=True)
    class New:
        heads: int
        talking: Annotated[bool, Field()] = False

    assert essence(New(heads=8)) == essence(Old(heads=8))
    assert essence(New(heads=8, talking=True)) != essence(Old(heads=8))


def test_decoding_has_a_hash_of_its_own() -> None:
    decode = compose([]).decode
    assert decoding_hash(decode) == decoding_hash(dataclasses.replace(decode, tokens_per_batch=1))
    assert decoding_hash(decode) != decoding_hash(dataclasses.replace(decode, beam=1))
    assert decoding_hash(decode) != decoding_hash(dataclasses.replace(decode, min_length=1))


def test_a_decoding_key_added_later_leaves_the_hash_of_older_results_as_it_was() -> None:
    older = {"beam": 4, "alpha": 0.6, "extra_length": 50, "average": 1}
    digest = hashlib.sha256(json.dumps(older, sort_keys=True).encode()).hexdigest()[:8]
    assert decoding_hash(compose([]).decode) == digest


def test_a_row_is_labelled_with_the_overrides_that_make_it_another() -> None:
    telling_ones = ["model.dropout=0.2", "model/norm=rmsnorm", "scale.width=1/2", "model.match=none"]
    named_elsewhere = ["experiments=table3/base", "seed=3", "scale=mini", "+data.dir=x", "decode.beam=1"]
    about_the_machine = ["hydra/launcher=joblib", "runs_dir=x", "trainer.devices=2"]
    assert telling([*named_elsewhere, *telling_ones, *about_the_machine]) == telling_ones
