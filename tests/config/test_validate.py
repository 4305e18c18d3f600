"""A configuration survives being written and read, and nothing wrong gets through."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import yaml

from xformer.config.compose import compose
from xformer.config.locations import config_root
from xformer.config.validate import dump, known_keys, suggest, validate
from xformer.errors import UserError


def test_a_configuration_read_back_equals_the_one_written() -> None:
    for overrides in (["scale=mini"], ["model/position=learned", "model/placement=pre", "tracking=none"]):
        config = compose(overrides)
        assert validate(json.loads(json.dumps(dump(config)))) == config


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        compose([]).seed = 2  # type: ignore[misc]


def test_a_key_of_another_section_is_found_by_its_name() -> None:
    assert suggest("warmup_update") == "; did you mean optim.warmup_updates?"
    assert suggest("entirely.unheard_of") == ""


def test_what_is_no_configuration_at_all_is_one_plain_error() -> None:
    for values in ({}, {"model": 3}, {"model": {"placement": {"kind": []}}}, {"model": {"placement": {}}}):
        with pytest.raises(UserError):
            validate(values)


def _keys(values: object, prefix: str = "") -> list[str]:
    if not isinstance(values, dict):
        return [prefix]
    return [
        key for name, value in values.items() for key in _keys(value, f"{prefix}.{name}" if prefix else name)
    ]


def test_every_key_has_a_default_in_a_file_and_a_comment_there() -> None:
    root = config_root() / "conf"
    written: set[str] = set()
    for path in root.rglob("*.yaml"):
        package = ".".join(path.relative_to(root).parent.parts)
        text = path.read_text()
        assert "#" in text, path
        values = yaml.safe_load(text)
        for section in ("defaults", "hydra"):
            values.pop(section, None)
        if not package.startswith("hydra"):  # those keys are the engines' own
            written |= {f"{package}.{key}" if package else key for key in _keys(values)}
    leaves = {key for key in known_keys() if not any(other.startswith(f"{key}.") for other in known_keys())}
    assert leaves - {"experiment"} == written  # Hydra's choice of experiment names the run


@pytest.mark.parametrize("folder", ["conf", "experiments", "sweeps"])
def test_every_yaml_key_stands_under_a_comment_of_its_own_or_its_group(folder: str) -> None:
    for path in (config_root() / folder).rglob("*.yaml"):
        assert path.read_text().lstrip().startswith("#"), path


def test_an_experiment_is_at_most_ten_lines_and_declares_what_it_changes() -> None:
    paths = list((config_root() / "experiments").rglob("*.yaml"))
    assert len(paths) >= 20
    for path in paths:
        assert len(path.read_text().splitlines()) <= 10, path
        assert "changes:" in path.read_text(), path


def test_no_choice_of_a_group_is_optional() -> None:
    """Hydra passes over a misspelt choice of an optional group in silence."""
    for folder in ("conf", "experiments", "sweeps"):
        for path in (config_root() / folder).rglob("*.yaml"):
            assert "optional " not in path.read_text(), path


def test_the_repository_holds_each_configuration_once() -> None:
    names = [path.relative_to(config_root()) for path in config_root().glob("*/**/*.yaml")]
    assert len(names) == len(set(names))
    assert not (Path(__file__).parents[2] / "xformer" / "_config").exists()
