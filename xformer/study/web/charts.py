"""Small plots as inline SVG: drawn here, since a plotting library in a page costs megabytes.

All text is escaped by markupsafe, whose `Markup` Jinja2 passes through; colours are classes of page.css, so
that dark mode and print need no second picture.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from xformer.study.text import magnitude, plain

WIDTH, HEIGHT = 320, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 36  # room for the axes' numbers, in pixels
_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Dot:
    """A point with what is said of it where the pointer rests; `half` is half an error bar."""

    x: float
    y: float
    label: str = ""
    half: float | None = None


@dataclass(frozen=True)
class Series:
    """Points that belong together: `look` is a class of page.css, joined by a line or each for itself."""

    dots: Sequence[Dot]
    look: str
    joined: bool = False
    label: str = ""
    marked: bool = True


@dataclass(frozen=True)
class _Axis:
    """From values to pixels, straight or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    marks: tuple[float, ...] = ()  # where its numbers stand, if not where round ones fall

    def __call__(self, value: float) -> float:
        low, high, here = (self._turned(each) for each in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / (high - low)

    def _turned(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value

    def ticks(self) -> list[float]:
        """Round numbers within the axis, two at least and about five."""
        if self.marks:
            return list(self.marks)
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in ((1,), (1, 3), (1, 2, 5)):
                found = [step * 10.0**power for power in powers for step in steps]
                found = [each for each in found if self.low <= each <= self.high]
                if len(found) >= 3:
                    return found[:: math.ceil(len(found) / 6)]
        step = _round_step((self.high - self.low) / 5)
        start = math.ceil(self.low / step - 1e-9)
        return [
            number * step for number in range(start, start + 12) if number * step <= self.high + step * 1e-9
        ]


def chart(
    title: str, x_name: str, y_name: str, series: Sequence[Series], logarithmic: bool = False
) -> Markup:
    """A plot of all series, x by logarithm where asked; empty where there is nothing to see.

    Values that are not finite, and on a logarithmic axis those not above zero, are left out.
    """
    shown = [
        Series(dots, each.look, each.joined, each.label, each.marked)
        for each in series
        if (dots := [dot for dot in each.dots if _drawable(dot, logarithmic)])
    ]
    dots = [dot for each in shown for dot in each.dots]
    if not dots:
        return Markup("")
    x = _axis([dot.x for dot in dots], LEFT, WIDTH - RIGHT, logarithmic)
    if logarithmic:
        x = replace(x, marks=_marks(x, Counter(dot.x for dot in dots)))
    tops = [dot.y + sign * (dot.half or 0.0) for dot in dots for sign in (-1, 1)]
    y = _axis(tops, HEIGHT - BOTTOM, TOP)
    parts = [*_frame(x, y, x_name, y_name)]
    for each in shown:
        parts += _drawn(each, x, y)
    return Markup(
        '<figure><svg class="chart" viewBox="0 0 {w} {h}" role="img" aria-label="{title}">{body}</svg>'
        "<figcaption>{title}</figcaption></figure>"
    ).format(w=WIDTH, h=HEIGHT, title=plain(title), body=Markup("").join(parts))


def interval_bar(value: float, half: float, reach: float) -> Markup:
    """A difference with its interval as a small bar around zero, from -reach to reach.

    What lies beyond ends in an arrow. The bar says in a picture what stands beside it in words, so it is
    hidden from screen readers.
    """
    place = _Axis(-reach, reach, 4, 92)
    low, high = (place(max(-reach, min(end, reach))) for end in (value - half, value + half))
    if abs(value) <= reach:
        mark = Markup('<circle class="value" cx="{:.1f}" cy="7" r="3"/>').format(place(value))
    else:
        tip, back = (96, 90) if value > 0 else (0, 6)
        mark = Markup('<polygon class="value" points="{t},7 {b},3 {b},11"/>').format(t=tip, b=back)
    return Markup(
        '<svg class="bar" viewBox="0 0 96 14" width="96" height="14" aria-hidden="true">'
        '<line class="zero" x1="48" x2="48" y1="0" y2="14"/>'
        '<rect class="{look}" x="{x:.1f}" y="4" width="{wide:.1f}" height="6" rx="2"/>{mark}</svg>'
    ).format(look="clear" if abs(value) > half else "unclear", x=low, wide=max(1.0, high - low), mark=mark)


def _drawable(dot: Dot, logarithmic: bool) -> bool:
    return math.isfinite(dot.x) and math.isfinite(dot.y) and (dot.x > 0 or not logarithmic)


def _axis(values: Sequence[float], start: float, end: float, logarithmic: bool = False) -> _Axis:
    low, high = min(values), max(values)
    if logarithmic:
        room = max((high / low) ** 0.06, 1.1)
        return _Axis(low / room, high * room, start, end, True)
    room = (high - low) * 0.06 or max(abs(high) * 0.05, 0.5)
    return _Axis(low - room if low < 0 or low > room else 0.0, high + room, start, end)


def _marks(axis: _Axis, values: Counter[float]) -> tuple[float, ...]:
    """The values themselves, as of chosen sizes, where they are few; the commonest have room first."""
    if len(values) > 8:
        return ()
    chosen: list[float] = []
    for value, _ in values.most_common():
        room = 4 * len(_short(value)) + 6
        if all(abs(axis(value) - axis(other)) >= room + 3 * len(_short(other)) for other in chosen):
            chosen.append(value)
    return tuple(sorted(chosen))


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least)


def _frame(x: _Axis, y: _Axis, x_name: str, y_name: str) -> Iterable[Markup]:
    write = _writer(y.high - y.low)
    for tick in y.ticks():
        yield Markup('<line class="grid" x1="{a}" x2="{b}" y1="{y:.1f}" y2="{y:.1f}"/>').format(
            a=LEFT, b=WIDTH - RIGHT, y=y(tick)
        )
        yield _word(LEFT - 5, y(tick) + 4, write(tick), "end")
    for tick in x.ticks():
        yield _word(x(tick), HEIGHT - BOTTOM + 14, _short(tick), "middle")
    yield _word((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, x_name, "middle")
    turned = Markup('<text text-anchor="middle" transform="translate(11 {y:.1f}) rotate(-90)">{t}</text>')
    yield turned.format(y=(TOP + HEIGHT - BOTTOM) / 2, t=plain(y_name))


def _word(x: float, y: float, word: str, anchor: str) -> Markup:
    return Markup('<text x="{x:.1f}" y="{y:.1f}" text-anchor="{a}">{t}</text>').format(
        x=x, y=y, a=anchor, t=plain(word)
    )


def _drawn(series: Series, x: _Axis, y: _Axis) -> Iterable[Markup]:
    label = Markup("<title>{}</title>").format(plain(series.label)) if series.label else Markup("")
    if series.joined and len(series.dots) > 1:
        points = " ".join(f"{x(dot.x):.1f},{y(dot.y):.1f}" for dot in series.dots)
        yield Markup('<polyline class="{look}" points="{points}">{label}</polyline>').format(
            look=series.look, points=points, label=label
        )
    for dot in series.dots if series.marked else ():
        said = Markup("<title>{}</title>").format(plain(dot.label)) if dot.label else label
        if dot.half:
            low, high = y(dot.y - dot.half), y(dot.y + dot.half)
            yield Markup('<line class="{l}" x1="{x:.1f}" x2="{x:.1f}" y1="{a:.1f}" y2="{b:.1f}"/>').format(
                l=series.look, x=x(dot.x), a=low, b=high
            )
        yield Markup('<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="3.2">{said}</circle>').format(
            look=series.look, x=x(dot.x), y=y(dot.y), said=said
        )


def _short(value: float) -> str:
    return magnitude(value).replace(" ", "") if value >= 1000 else f"{value:g}".replace("-", _MINUS)


def _writer(span: float) -> Callable[[float], str]:
    digits = max(0, min(6, 1 - math.floor(math.log10(span))))
    return lambda value: _short(value) if abs(value) >= 1000 else f"{value:.{digits}f}".replace("-", _MINUS)
