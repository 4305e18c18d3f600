"""Panels in the words of wandb-workspaces: a workspace and a report for one project and one set of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import wandb_workspaces.reports.v2 as reports
import wandb_workspaces.workspaces as workspaces

from xformer.dashboard.panels import Bars, Curves, Points, Section, Texts


@dataclass(frozen=True)
class Chosen:
    """Which runs of a project are shown: those of these experiments at these scales."""

    experiments: tuple[str, ...]
    scales: tuple[str, ...]


def workspace(
    name: str, entity: str, project: str, sections: Sequence[Section], chosen: Chosen
) -> workspaces.Workspace:
    """The sections as a saved view of a project, its runs grouped by experiment."""
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=name,
        sections=[
            workspaces.Section(name=each.title, panels=_panels(each), is_open=number < 2)
            for number, each in enumerate(sections)
        ],
        runset_settings=workspaces.RunsetSettings(
            filters=_filters(chosen), groupby=[workspaces.Config("experiment")]
        ),
    )


def report(
    title: str, entity: str, project: str, sections: Sequence[Section], chosen: Chosen, text: str
) -> reports.Report:
    """What was concluded, as Markdown, then the sections with their runs."""
    # A set that names no project is of the report's own; one that does is looked up, so it must be there.
    runs = [reports.Runset(name="runs", filters=_filters(chosen), groupby=["config.experiment"])]
    blocks: list[Any] = [reports.MarkdownBlock(text)]
    for each in sections:
        blocks += [reports.H2(each.title), reports.PanelGrid(runsets=runs, panels=_panels(each))]
    return reports.Report(project=project, entity=entity, title=title, blocks=blocks, width="fluid")


def specification(space: workspaces.Workspace, page: reports.Report) -> dict[str, Any]:
    """Both as the server would be sent them, as plain values."""
    # The package offers no public way to serialise without a connection.
    models = {"workspace": space._to_model(), "report": page._to_model()}
    return {name: json.loads(each.model_dump_json(by_alias=True)) for name, each in models.items()}


def _filters(chosen: Chosen) -> Any:
    wanted = [workspaces.Config("experiment").isin(list(chosen.experiments))]
    if chosen.scales:
        wanted.append(workspaces.Tags().isin(list(chosen.scales)))
    return workspaces.And(*wanted)


def _panels(section: Section) -> list[Any]:
    """Three in a line, each eight units wide of twenty-four."""
    found = [_panel(each) for each in section.panels]
    for number, each in enumerate(found):
        wide = 24 if isinstance(section.panels[number], Texts) else 8
        each.layout = reports.Layout(x=number % 3 * 8, y=number // 3 * 6, w=wide, h=6)
    return found


def _panel(panel: Bars | Points | Curves | Texts) -> Any:
    if isinstance(panel, Bars):
        return reports.BarPlot(
            title=panel.title,
            metrics=[panel.key],
            groupby=reports.Config("experiment"),
            groupby_aggfunc="mean",
            groupby_rangefunc="stddev",
        )
    if isinstance(panel, Points):
        x = reports.Config(panel.x) if panel.configured else reports.SummaryMetric(panel.x)
        return reports.ScatterPlot(title=panel.title, x=x, y=reports.SummaryMetric(panel.y), log_x=True)
    if isinstance(panel, Curves):
        return reports.LinePlot(
            title=panel.title,
            x=panel.x,
            y=[panel.y],
            groupby=reports.Config("experiment"),
            groupby_aggfunc="mean",
            groupby_rangefunc="stddev",
        )
    return reports.WeavePanelSummaryTable(table_name=panel.key)
