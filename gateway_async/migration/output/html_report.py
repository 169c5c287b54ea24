"""A migration's report as one self-contained HTML page, from the template `report.html.jinja`. It needs Jinja2."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from gateway_async.migration.output.chart import create_chart
from gateway_async.migration.output.summary import (
    RunContext,
    duration,
    facts,
    failures,
    format_local_time,
    headline,
    rate_of,
)
from gateway_async.migration.report import Report

__all__ = ["render_page"]

_TEMPLATE: Final = Path(__file__).with_name("report.html.jinja")


def render_page(
    report: Report,
    *,
    reasons: Iterable[tuple[str, int]] = (),
    resume_command: str = "",
    ended_at: datetime | None = None,
    context: RunContext | None = None,
) -> str:
    """Return the report as a complete HTML page.

    Args:
        report: the results of the rows.
        reasons: the reasons of rejections, and the number of rows for each.
        resume_command: the command that continues the migration, if something is left to do.
        ended_at: the end of the run; by default from the report.
        context: the input, the journal and its counts, the rejects.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["number"] = lambda value: f"{value:,.0f}"
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        report=report,
        title=report.name or "Migration",
        ended=f"{ended_at:%Y-%m-%d %H:%M %z}".rstrip() if ended_at else format_local_time(report.ended_at),
        headline=headline(report),
        tone="bad" if report.stopped else "warn" if report.unknown or report.rejected else "good",
        tiles=[
            ("Stored", report.stored, "good"),
            ("Rejected", report.rejected, "bad"),
            ("Unknown", report.unknown, "warn"),
            ("Skipped: stored before", report.skipped, "line"),
        ],
        facts=list(facts(report, context or RunContext())),
        chart=create_chart(report.samples),
        duration=duration(report.seconds),
        rate=rate_of(report),
        failures=failures(report),
        reasons=list(reasons),
        resume_command=resume_command,
    )
