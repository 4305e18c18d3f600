"""Where the configuration files are: beside the package in the repository, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def config_root() -> Path:
    """The folder that holds `conf/`, `experiments/` and `sweeps/`."""
    repository = _PACKAGE.parent
    return repository if (repository / "conf" / "train.yaml").is_file() else _PACKAGE / "_config"
