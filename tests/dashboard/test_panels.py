"""Panels ask for nothing that runs are not tracked under."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tests.study.folders import result
from xformer.config.compose import compose
from xformer.dashboard.panels import UPDATES, Bars, Curves, Points, Texts, sections
from xformer.runs.folder import Status
from xformer.runs.tracking import facts, scores
from xformer.study.web.plots import QUANTITIES
from xformer.training.metrics import Row

PANELS = [panel for section in sections() for panel in section.panels]


def keys(values: dict[str, Any], prefix: str = "") -> set[str]:
    """Every key, those within others with dots."""
    found = set()
    for name, value in values.items():
        found |= keys(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}"}
    return found


def test_every_key_is_one_that_runs_are_tracked_under() -> None:
    config = compose(["experiments=table3/base"])
    configured = keys(facts(config, Status("running", "a", "b", "table3/base", 1)))
    finals = set(scores(result()))
    logged = {field.name for field in fields(Row)} | {"flops", UPDATES}
    for panel in PANELS:
        if isinstance(panel, Bars):
            assert panel.key in finals
        elif isinstance(panel, Points):
            assert panel.x in (configured if panel.configured else finals)
            assert panel.y in finals
        elif isinstance(panel, Curves):
            assert panel.y in logged
            assert panel.x in logged
        else:
            assert isinstance(panel, Texts)
            assert panel.key == "translations"  # tests/system/test_tracking.py finds it in a record


def test_the_panels_are_those_of_the_page() -> None:
    titles = {panel.title for panel in PANELS if not isinstance(panel, Texts)}
    for quantity in QUANTITIES:
        assert {f"test BLEU against {quantity.title}", f"dev PPL against {quantity.title}"} <= titles
    for axis in ("updates", "training tokens", "training FLOPs"):
        assert {f"training loss, nats a token by {axis}", f"dev PPL by {axis}"} <= titles
    assert len(titles) == len(PANELS) - 1
