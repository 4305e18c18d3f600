"""Plots under one heading, in one or several views between which the page has a switch."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class View:
    """One way to look at a gallery; `name` is what the switch calls it."""

    name: str
    plots: tuple[Markup, ...]


@dataclass(frozen=True)
class Gallery:
    """`about` says how to read the plots; the first view is shown first."""

    title: str
    about: str
    views: tuple[View, ...]
    open: bool = True

    @property
    def plots(self) -> tuple[Markup, ...]:
        """Those of the first view."""
        return self.views[0].plots if self.views else ()


def gallery(title: str, about: str, plots: tuple[Markup, ...]) -> Gallery:
    """Plots in a single view."""
    return Gallery(title, about, (View("", plots),))
