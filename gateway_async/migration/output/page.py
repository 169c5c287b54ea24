"""A migration's report as one self-contained HTML page, from the template `report.html.jinja`. It needs Jinja2.

While the migration runs, the same page can be served. It then replaces its parts by those of the next page.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import pairwise
from math import floor, log10
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from gateway_async._extras import import_extra
from gateway_async._secrets import mask_text
from gateway_async._text import pluralize
from gateway_async.migration.journal.protocol import RowResult, RowState
from gateway_async.migration.output.summary import (
    RunContext,
    RunProgress,
    duration,
    facts,
    format_local_time,
    headline,
    most_frequent,
    rate_of,
    running_headline,
)
from gateway_async.migration.report import STATES, Report, Sample

_MAX_POINTS: Final = 120
_MIN_SECONDS: Final = 0.05
"""A rate over a shorter interval has no meaning."""

_GAP: Final = 52
_TITLE: Final = 26
_FOOT: Final = 34
"""Heights in pixels."""

_STEPS: Final = (1, 2, 5, 10)
_MAX_TIMES: Final = 8
_UNITS: Final = ((3600, "h"), (60, "min"))
"""Seconds and names of the units that label two of them or more; anything shorter is labeled in seconds."""


class _Point(NamedTuple):
    """The values of one interval."""

    begins: float
    ends: float
    rate: float
    failures: float
    limit: float


_CURVES: Final = (
    ("Rows per second", "rate", 190, 4),
    ("Failed attempts per second", "failures", 72, 2),
    ("Concurrent calls allowed", "limit", 72, 2),
)
"""Title, name of the value and CSS class, height and number of ticks of each curve."""


def create_chart(samples: Sequence[Sample]) -> dict[str, Any] | None:
    """Draw the chart; None if there are too few samples."""
    points = list(_points(samples))
    if not points:
        return None
    panels, top = [], _TITLE
    for title, name, height, ticks in _CURVES:
        panels.append(
            {"title": title, "kind": name, "top": top, "height": height} | _curve(name, height, ticks, points)
        )
        top += height + _GAP
    return {
        "description": _describe(points),
        "panels": panels,
        "times": list(_times(points[-1].ends)),
        "height": top - _GAP + _FOOT,
        "bottom": top - _GAP,
    }


def _points(samples: Sequence[Sample]) -> Iterator[_Point]:
    """Yield the values between samples, at most about a hundred."""
    if not samples:
        return
    kept = [Sample(0.0, 0, 0, samples[0].limit)]
    shortest = max(samples[-1].seconds / _MAX_POINTS, _MIN_SECONDS)
    for sample in samples:
        if sample.seconds - kept[-1].seconds >= shortest:
            kept.append(sample)
    kept[max(1, len(kept) - 1) :] = [samples[-1]]  # a short last interval would show a random rate
    for before, after in pairwise(kept):
        seconds = after.seconds - before.seconds
        if seconds > 0:
            rate = (after.done - before.done) / seconds
            failures = (after.failed_attempts - before.failed_attempts) / seconds
            yield _Point(before.seconds, after.seconds, rate, failures, after.limit)


def _describe(points: Sequence[_Point]) -> str:
    limits = [point.limit for point in points]
    return (
        f"Over {duration(points[-1].ends)}: up to {max(point.rate for point in points):,.0f} rows per second, "
        f"up to {max(point.failures for point in points):,.1f} failed attempts per second, "
        f"between {min(limits):,.0f} and {max(limits):,.0f} concurrent {pluralize(max(limits), 'call')}."
    )


def _curve(name: str, height: int, ticks: int, points: Sequence[_Point]) -> dict[str, Any]:
    """Draw a step curve, because a count over an interval has no slope within it."""
    values: list[float] = [getattr(point, name) for point in points]
    labels = _round_numbers(max(values), ticks)
    scale = height / labels[-1]
    end = points[-1].ends
    edges = [(_x(point.begins, end), _x(point.ends, end)) for point in points]
    steps = zip(edges, values, strict=True)
    line = "M" + "L".join(f"{left} {round(height - value * scale, 1)}H{right}" for (left, right), value in steps)
    return {
        "ticks": [{"at": round(height - label * scale, 1), "label": _number(label)} for label in labels],
        "line": line,
        "area": f"{line}L{edges[-1][1]} {height}L{edges[0][0]} {height}Z",
        "tips": [
            {"x": left, "width": round(right - left, 2), "text": f"{duration(point.begins)}: {value:,.1f}"}
            for point, (left, right), value in zip(points, edges, values, strict=True)
        ],
    }


def _times(seconds: float) -> Iterator[dict[str, Any]]:
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), (1, "s"))
    for number in _round_numbers(seconds / size, _MAX_TIMES):
        if number * size <= seconds:
            yield {"at": _x(number * size, seconds), "label": f"{number:g} {unit}"}


def _x(seconds: float, end: float) -> float:
    return round(100 * seconds / end, 2)


def _round_numbers(highest: float, most: int) -> list[float]:
    if highest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(highest / most))
    step = next(step * power for step in _STEPS if step * power >= highest / most * (1 - 1e-9))
    ticks = [0.0]
    while ticks[-1] < highest:
        ticks.append(ticks[-1] + step)
    return ticks


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


_TONES: Final[Mapping[RowState, str]] = {
    RowState.STORED: "good",
    RowState.REJECTED: "bad",
    RowState.REPEATED: "bad",
    RowState.UNKNOWN: "warn",
    RowState.SENDING: "warn",
}
_FOLDER: Final = Path(__file__).parent
_LOGO: Final = _FOLDER.parents[1] / "sandbox/pages/static/logo.svg"
_MAX_FAILURES: Final = 10


def render_page(report: Report, context: RunContext) -> str:
    """Render the report as a complete HTML page; with the context's progress, the page updates itself."""
    page: str = _template().render(_values(report, context))
    return page.encode(errors="backslashreplace").decode()  # a path may not be valid UTF-8


@cache
def _template() -> Any:
    jinja2 = import_extra("jinja2", extra="cli", user="the HTML report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = lambda value: f"{value:,.0f}"
    environment.globals["icon"] = f"data:image/svg+xml,{quote(_LOGO.read_text(encoding='utf-8'))}"
    for name, file in (("style", "report.css"), ("script", "report.js")):
        text = (_FOLDER / file).read_text(encoding="utf-8")
        environment.globals[name] = environment.filters["safe"](text)
        environment.globals[f"{name}_hash"] = f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
    return environment.from_string((_FOLDER / "report.html.jinja").read_text(encoding="utf-8"))


def _values(report: Report, context: RunContext) -> dict[str, Any]:
    progress, totals = context.progress, report.figures
    return {
        "report": report,
        "progress": progress,
        "title": report.name or "Migration",
        "ended": format_local_time(report.ended_at),
        "headline": running_headline(report) if progress else headline(report),
        "tone": _tone(report, running=progress is not None),
        "figures": list(_figures(report, progress)) if progress else [],
        "updated": f"{datetime.now().astimezone():%H:%M:%S}",
        "tiles": [(STATES[state].capitalize(), count, _TONES[state]) for state, count in totals.figures()],
        "stored": totals.stored,
        "facts": list(facts(report, context)),
        "chart": create_chart(report.samples),
        "summary": _summary(report, "in all" if progress is None else "so far"),
        "failures": most_frequent(report.failures)[:_MAX_FAILURES],
        "reasons": context.reasons,
        "rejects": [(_row_name(result), "; ".join(result.reasons)) for result in context.newest_rejects],
        "resume_command": context.resume_command,
    }


def _tone(report: Report, *, running: bool) -> str:
    if running:
        return "warn" if report.stopped or report.waits_for else "running"
    needs_attention = report.unknown or report.rejected or report.repeated
    return "bad" if report.stopped else "warn" if needs_attention else "good"


def _figures(report: Report, progress: RunProgress) -> Iterator[tuple[str, str]]:
    share = progress.share
    yield "rows per second", f"{progress.rate:,.0f}"
    yield "rows done", f"{report.rows:,}"
    yield "of the input", "unknown" if share is None else f"{share:.0%}"
    yield "left", "unknown" if progress.eta is None else f"about {duration(progress.eta)}"
    yield "concurrent calls", f"{report.in_flight} of {report.limit}"
    yield "so far", duration(report.seconds)


def _row_name(result: RowResult) -> str:
    """Return a row's line and key. A key that looks like a card number is masked."""
    line = "" if result.line is None else f"line {result.line:,}"
    return " · ".join(filter(None, [line, mask_text(result.key)]))


def _summary(report: Report, extent: str) -> str:
    rate, failed = f"{rate_of(report):,.0f} rows per second on average", report.failed_attempts
    return f"{duration(report.seconds)} {extent}, {rate}; {failed:,} {pluralize(failed, 'attempt')} failed."
