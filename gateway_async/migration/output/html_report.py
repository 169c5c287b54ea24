"""A migration's report as one self-contained HTML page, from the template `report.html.jinja`. It needs Jinja2."""

from pathlib import Path
from typing import Final

from gateway_async._extras import import_extra
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


def render_page(report: Report, context: RunContext) -> str:
    """Return the report as a complete HTML page."""
    jinja2 = import_extra("jinja2", extra="cli", user="the HTML report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = lambda value: f"{value:,.0f}"
    page: str = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        report=report,
        title=report.name or "Migration",
        ended=format_local_time(report.ended_at),
        headline=headline(report),
        tone="bad" if report.stopped else "warn" if report.unknown or report.rejected else "good",
        tiles=[
            ("Stored", report.stored, "good"),
            ("Rejected", report.rejected, "bad"),
            ("Unknown", report.unknown, "warn"),
            ("Skipped: stored before", report.skipped, "line"),
        ],
        facts=list(facts(report, context)),
        chart=create_chart(report.samples),
        duration=duration(report.seconds),
        rate=rate_of(report),
        failures=failures(report),
        reasons=context.reasons,
        resume_command=context.resume_command,
    )
    return page
