"""SVG chart of a migration over time: rows per second, failed attempts per second, concurrent calls."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import pairwise
from math import floor, log10
from typing import Final

import attrs

from gateway_async.migration.output.summary import duration
from gateway_async.migration.report import Sample

__all__ = ["plot"]

_WIDTH: Final = 880
_LEFT: Final = 64
_RIGHT: Final = 12
_MOST_POINTS: Final = 120
_SHORTEST: Final = 0.05
"""Seconds; a rate over a shorter interval has no meaning."""

_GAP: Final = 52
_TITLE: Final = 26
_FOOT: Final = 34
_STEPS: Final = (1, 2, 5, 10)


@attrs.frozen
class _Point:
    """The values of one interval, which ends at a moment."""

    begins: float
    ends: float
    rate: float
    trouble: float
    limit: float


@attrs.frozen
class _Panel:
    """One curve: its title, its CSS class, its height and its value at a point."""

    name: str
    kind: str
    height: int
    value: Callable[[_Point], float]


_PANELS: Final = (
    _Panel("Rows per second", "rate", 190, lambda point: point.rate),
    _Panel("Failed attempts per second", "trouble", 72, lambda point: point.trouble),
    _Panel("Calls at once, allowed", "limit", 72, lambda point: point.limit),
)


def plot(samples: Sequence[Sample]) -> str:
    """Return the chart as an `<svg>` element without styles; "" if there is too little to show."""
    points = list(_points(samples))
    if not points:
        return ""
    height = sum(panel.height + _GAP for panel in _PANELS) + _FOOT - _GAP + _TITLE
    return "".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="plot-title plot-text">',
            '<title id="plot-title">How it went</title>',
            f'<desc id="plot-text">{escape(_in_words(points))}</desc>',
            *_panels(points),
            *_time_axis(points[-1].ends, height - _FOOT),
            "</svg>",
        ]
    )


def _points(samples: Sequence[Sample]) -> Iterator[_Point]:
    """Yield the values between samples, at most about a hundred."""
    if not samples:
        return
    kept, least = [Sample(0.0, 0, 0, samples[0].limit)], max(samples[-1].seconds / _MOST_POINTS, _SHORTEST)
    for sample in samples:
        if sample.seconds - kept[-1].seconds >= least:
            kept.append(sample)
    kept[max(1, len(kept) - 1) :] = [samples[-1]]  # a short last interval would show a random rate
    for before, after in pairwise(kept):
        seconds = after.seconds - before.seconds
        if seconds > 0:
            rate, trouble = (after.done - before.done) / seconds, (after.trouble - before.trouble) / seconds
            yield _Point(before.seconds, after.seconds, rate, trouble, after.limit)


def _in_words(points: Sequence[_Point]) -> str:
    rates = [point.rate for point in points]
    worst, limits = max(point.trouble for point in points), [point.limit for point in points]
    return (
        f"Over {duration(points[-1].ends)}: up to {max(rates):,.0f} rows per second, "
        f"up to {worst:,.1f} failed attempts per second, "
        f"between {min(limits):,.0f} and {max(limits):,.0f} calls at once."
    )


def _panels(points: Sequence[_Point]) -> Iterator[str]:
    top = _TITLE
    for panel in _PANELS:
        yield f'<g transform="translate(0 {top})">'
        yield from _panel(panel, points)
        yield "</g>"
        top += panel.height + _GAP


def _panel(panel: _Panel, points: Sequence[_Point]) -> Iterator[str]:
    ticks = _ticks(max(panel.value(point) for point in points), 4 if panel.height > 100 else 2)  # noqa: PLR2004
    top = ticks[-1]
    yield f'<text class="name" x="{_LEFT}" y="-10">{escape(panel.name)}</text>'
    for tick in ticks:
        y = panel.height * (1 - tick / top)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>'
    steps = _steps(panel, points, top)
    begins, ends = (_x(moment, points) for moment in (points[0].begins, points[-1].ends))
    floor_line = f"L{ends:.1f} {panel.height}L{begins:.1f} {panel.height}Z"
    yield f'<path class="area {panel.kind}" d="{steps}{floor_line}"/>'
    yield f'<path class="line {panel.kind}" d="{steps}"/>'
    yield from (_tip(panel, point, points) for point in points)


def _steps(panel: _Panel, points: Sequence[_Point], top: float) -> str:
    """Return the path of a step curve, because a count over an interval has no slope within it."""
    levels: list[str] = []
    for point in points:
        y = panel.height * (1 - panel.value(point) / top)
        levels.append(f"{_x(point.begins, points):.1f} {y:.1f}H{_x(point.ends, points):.1f}")
    return "M" + "L".join(levels)


def _tip(panel: _Panel, point: _Point, points: Sequence[_Point]) -> str:
    """Return the tooltip of an interval."""
    x, width = _x(point.begins, points), _x(point.ends, points) - _x(point.begins, points)
    said = f"{duration(point.begins)}: {panel.value(point):,.1f}"
    return f'<rect class="tip" x="{x:.1f}" width="{width:.1f}" height="{panel.height}"><title>{said}</title></rect>'


def _time_axis(seconds: float, y: float) -> Iterator[str]:
    step = next(step for step in _times() if seconds / step <= 8)  # noqa: PLR2004
    for number in range(int(seconds / step) + 1):
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * number * step / seconds
        yield f'<line class="notch" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 5}"/>'
        anchor = "end" if x > _WIDTH - 40 else "middle"
        yield f'<text class="tick" x="{x:.1f}" y="{y + 20}" text-anchor="{anchor}">{_moment(number * step)}</text>'


def _times() -> Iterator[float]:
    """Yield possible steps of the time axis, from the finest."""
    yield from (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
    yield from (60 * step for step in (1, 2, 5, 10, 15, 30))
    step = 3600.0
    while True:
        yield step
        step *= 2


def _moment(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _x(seconds: float, points: Sequence[_Point]) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * seconds / points[-1].ends


def _ticks(highest: float, most: int) -> list[float]:
    """Return round numbers from 0 to at least the highest value."""
    rough = max(highest, 1e-9) / most
    power = 10.0 ** floor(log10(rough))
    step = next(step * power for step in _STEPS if step * power >= rough * (1 - 1e-9))
    if highest <= 0:
        return [0.0, 1.0]
    ticks = [0.0]
    while ticks[-1] < highest:
        ticks.append(ticks[-1] + step)
    return ticks


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"
