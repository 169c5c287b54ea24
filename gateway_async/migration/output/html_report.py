"""A migration's report as one self-contained HTML page, from the template `report.html.jinja`. It needs Jinja2.

While the migration runs, the same page can be served. Each of its parts is then replaced when it has changed.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from gateway_async._kernel import import_extra, pluralize
from gateway_async._secrets import mask_text
from gateway_async.migration.journal.protocol import RowResult, RowState
from gateway_async.migration.output.chart import create_chart
from gateway_async.migration.output.summary import (
    STATES,
    RunContext,
    RunProgress,
    duration,
    facts,
    figures,
    figures_of,
    format_local_time,
    headline,
    most_frequent,
    rate_of,
    running_headline,
)
from gateway_async.migration.report import Report

__all__ = ["render_page", "render_parts"]

_TONES: Final[Mapping[RowState, str]] = {
    RowState.STORED: "good",
    RowState.REJECTED: "bad",
    RowState.REPEATED: "bad",
    RowState.UNKNOWN: "warn",
    RowState.SENDING: "warn",
}
_FOLDER: Final = Path(__file__).parent
_MAX_FAILURES: Final = 10


def render_page(report: Report, context: RunContext) -> str:
    """Return the report as a complete HTML page; with the context's progress, as a page that updates itself."""
    page: str = _template().render(_values(report, context))
    return page


def render_parts(report: Report, context: RunContext) -> Mapping[str, str]:
    """Return the content of each part of the page by its name."""
    template = _template()
    values = template.new_context(_values(report, context))
    return {name: "".join(block(values)) for name, block in template.blocks.items()}


@cache
def _template() -> Any:
    jinja2 = import_extra("jinja2", extra="cli", user="the HTML report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = lambda value: f"{value:,.0f}"
    style = (_FOLDER / "report.css").read_text(encoding="utf-8")
    environment.globals["style"] = environment.filters["safe"](style)
    environment.globals["style_hash"] = f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}"
    return environment.from_string((_FOLDER / "report.html.jinja").read_text(encoding="utf-8"))


def _values(report: Report, context: RunContext) -> dict[str, Any]:
    """Return what the template shows."""
    progress, totals = context.progress, figures_of(report)
    return {
        "report": report,
        "progress": progress,
        "title": report.name or "Migration",
        "ended": format_local_time(report.ended_at),
        "headline": running_headline(report) if progress else headline(report),
        "tone": _tone(report, running=progress is not None),
        "figures": list(_figures(report, progress)) if progress else [],
        "updated": f"{datetime.now().astimezone():%H:%M:%S}",
        "tiles": [(STATES[state].capitalize(), count, _TONES[state]) for state, count in figures(totals)],
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
    """Yield the current numbers as pairs of name and text."""
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
