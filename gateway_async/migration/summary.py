"""A report in a sentence, and as plain values: what the terminal, JSON and the page have in common."""

from collections.abc import Iterable
from typing import Any

from gateway_async.migration.report import Report

__all__ = ["duration", "headline", "plain", "rate_of"]


def headline(report: Report) -> str:
    """How it ended, in a sentence."""
    if report.stopped:
        return f"Stopped before the end: {report.stopped.rstrip('.')}."
    if report.unknown:
        return f"Every row has ended, and of {report.unknown:,} nobody knows yet whether they are stored."
    if not report.rows:
        return "There was nothing to migrate: the input holds no rows."
    if report.rejected:
        return f"Every row has ended; {report.rejected:,} of {report.rows:,} were rejected."
    return "Complete: every row is stored."


def plain(report: Report, reasons: Iterable[tuple[str, int]] = (), again: str = "") -> dict[str, Any]:
    """The report as values for JSON.

    Args:
        report: what became of the rows.
        reasons: why rows were rejected, and how many for each.
        again: the command that goes on.
    """
    counts = {name: getattr(report, name) for name in ("stored", "rejected", "unknown", "skipped", "trouble")}
    return {
        "name": report.name,
        **counts,
        "rows": report.rows,
        "complete": report.complete,
        "stopped": report.stopped,
        "seconds": round(report.seconds, 3),
        "rows_per_second": round(rate_of(report), 1),
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in reasons],
        "again": again,
    }


def rate_of(report: Report) -> float:
    """Rows a second over the whole run, skipped ones not counted."""
    done = report.rows - report.skipped
    return done / report.seconds if report.seconds > 0 else 0.0


def duration(seconds: float) -> str:
    """A length of time for people: `48 s`, `3 min 20 s`, `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    if minutes:
        return f"{minutes} min {rest:02} s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{rest} s"  # noqa: PLR2004
