"""A tracker is a copy: the user's own environment chooses its mode, and its server ends no run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import wandb
from lightning.pytorch.loggers import WandbLogger

from xformer.config.compose import compose
from xformer.runs.folder import RunFolder, Status
from xformer.runs.trackers import tracking


class Server:
    """Stands for `wandb.init`: remembers the modes it was asked for, and fails online if it should."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.run = failure, Run()
        self.modes: list[str] = []

    def __call__(self, **settings: Any) -> Run:
        self.modes.append(settings["mode"])
        if self.failure is not None and settings["mode"] == "online":
            raise self.failure
        return self.run


class Run:
    """What a tracker uses of a run."""

    def __init__(self) -> None:
        self.summary: dict[str, Any] = {}
        self.exit_code: int | None = None

    def finish(self, exit_code: int) -> None:
        self.exit_code = exit_code


@pytest.fixture
def _login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    monkeypatch.setattr(wandb, "teardown", lambda: None)


def modes(folder: Path, monkeypatch: pytest.MonkeyPatch, server: Server, *overrides: str) -> list[str]:
    """The modes that a run's tracker tries, one after the other, until it is closed."""
    monkeypatch.setattr(wandb, "init", server)
    run = RunFolder(folder)
    run.freeze(compose(["tracking=wandb", *overrides]))
    with tracking(run, Status("running", "id", "row", "custom", 1), first=True) as tracker:
        tracker.state = "finished"
    assert server.run.exit_code == 0
    return server.modes


@pytest.mark.usefixtures("_login")
@pytest.mark.parametrize("mode", ["offline", "online", "dryrun", "disabled"])
def test_the_environment_chooses_the_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setenv("WANDB_MODE", mode)
    assert modes(tmp_path, monkeypatch, Server()) == [mode]
    assert modes(tmp_path, monkeypatch, Server(), "tracking.mode=online") == ["online"]


@pytest.mark.usefixtures("_login")
@pytest.mark.parametrize(
    "error", [wandb.errors.CommError("no route\nhint"), wandb.errors.UsageError("no route")]
)
def test_a_server_out_of_reach_costs_one_line_and_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: wandb.Error
) -> None:
    with caplog.at_level(logging.WARNING, "xformer"):
        assert modes(tmp_path, monkeypatch, Server(error)) == ["online", "offline"]
    (told,) = caplog.messages
    assert told.endswith("recorded offline instead: no route")


def test_a_tracker_that_cannot_end_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(self: Run, exit_code: int) -> None:
        raise OSError("disk full")

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(wandb, "init", Server())
    monkeypatch.setattr(Run, "finish", fails)
    run = RunFolder(tmp_path)
    run.freeze(compose(["tracking=wandb"]))
    status = Status("running", "id", "row", "custom", 1)
    with caplog.at_level(logging.WARNING, "xformer"), tracking(run, status, first=True) as tracker:
        tracker.state = "finished"
    assert "did not take all of it: OSError: disk full" in caplog.text


def test_a_tracker_that_takes_no_numbers_is_told_of_once_and_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(self: WandbLogger, metrics: object, step: int) -> None:
        raise BrokenPipeError("its service is gone")

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(wandb, "init", Server())
    monkeypatch.setattr(WandbLogger, "log_metrics", fails)
    run = RunFolder(tmp_path)
    run.freeze(compose(["tracking=wandb"]))
    status = Status("running", "id", "row", "custom", 1)
    with caplog.at_level(logging.WARNING, "xformer"), tracking(run, status, first=True) as tracker:
        for update in (1, 2, 3):
            tracker.log({"loss": 1.0}, update)
        tracker.state = "finished"
    (told,) = caplog.messages
    assert "its service is gone" in told


@pytest.mark.usefixtures("_login")
def test_who_asks_for_online_alone_is_told_that_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(wandb.errors.CommError):
        modes(tmp_path, monkeypatch, Server(wandb.errors.CommError("no route")), "tracking.mode=online")


@pytest.mark.parametrize("kind", ["wandb", "tensorboard"])
def test_a_rank_that_only_trains_along_has_no_tracker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(wandb, "init", Server())
    run = RunFolder(tmp_path)
    run.freeze(compose([f"tracking={kind}"]))
    before = sorted(tmp_path.rglob("*"))
    with tracking(run, Status("running", "id", "row", "custom", 1), first=False) as tracker:
        tracker.log({"loss": 1.0}, 1)
        tracker.state = "finished"
    assert sorted(tmp_path.rglob("*")) == before
    assert wandb.init.modes == []


def test_a_disabled_tracker_takes_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    run = RunFolder(tmp_path)
    run.freeze(compose(["tracking=wandb"]))
    with tracking(run, Status("running", "id", "row", "custom", 1), first=True) as tracker:
        tracker.log({"loss": 1.0}, 1)
        tracker.state = "finished"
    assert not list(tmp_path.rglob("*.wandb"))
