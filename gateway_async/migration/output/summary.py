"""A report as one sentence, as facts and as values for JSON. The terminal and the HTML page use them too."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import attrs

from gateway_async._text import pluralize
from gateway_async.migration.journal.protocol import RowResult
from gateway_async.migration.report import REJECTED_STATES, Report

COUNTS: Final = ("stored", "rejected", "repeated", "unknown", "skipped", "failed_attempts")
"""The numbers of a run that JSON has."""

_MAX_FAILURES: Final = 5


@attrs.frozen(kw_only=True)
class RunProgress:
    """How fast a migration runs, and how far it is.

    Attributes:
        rate: rows per second over the last seconds.
        share: part of the input that has ended, from 0 to 1; None if that is not known.
        eta: estimated remaining seconds; None if not known.
    """

    rate: float
    share: float | None
    eta: float | None


@attrs.frozen(kw_only=True)
class RunContext:
    """The facts that a report names in addition to the run's numbers.

    Attributes:
        input: the file, or - for standard input.
        journal: the file or address, without a password.
        reasons: each with its number of rows.
        newest_rejects: the newest first.
        progress: None when it has ended.
    """

    input: str = ""
    journal: str = ""
    rejects: str = ""
    reasons: Sequence[tuple[str, int]] = ()
    newest_rejects: Sequence[RowResult] = ()
    resume_command: str = ""
    progress: RunProgress | None = None


def this_run(report: Report) -> str:
    """Describe the rows of this run in words."""
    counts = [f"{getattr(report, name):,} {name}" for name in ("stored", "rejected", "repeated", "unknown")]
    return ", ".join([*counts, f"{report.skipped:,} stored before"])


def headline(report: Report) -> str:
    """Sum up the result of a migration in one sentence."""
    if report.stopped:
        return f"Stopped before the end: {report.stopped.rstrip('.')}."
    if report.unknown:
        return f"Every row has ended; the outcome of {report.unknown:,} is unknown."
    if not report.rows:
        return "Nothing to migrate: the input has no rows."
    if report.rejected or report.repeated:
        repeats = pluralize(report.repeated, "repeats", "repeat")
        repeated = f"{report.repeated:,} {repeats} the key of another" if report.repeated else ""
        rejected = f"{report.rejected:,} of {report.rows:,} were rejected" if report.rejected else ""
        return f"Every row has ended; {' and '.join(filter(None, [rejected, repeated]))}."
    return "Complete: every row is stored."


def running_headline(report: Report) -> str:
    """Describe the state of a migration that has not ended."""
    if report.stopped:
        return f"Stopping: {report.stopped.rstrip('.')}. Calls in progress end first."
    if report.ended_at:
        return "Every row has ended; the files are being written."
    return f"Waiting: {report.waits_for}." if report.waits_for else "Running."


def as_values(report: Report, context: RunContext) -> dict[str, Any]:
    """Convert the report to values for JSON; times are local, in ISO 8601 with their offset from UTC."""
    counts = {name: getattr(report, name) for name in COUNTS}
    return {
        "name": report.name,
        "gateway": report.gateway,
        "location": report.location,
        "input": context.input,
        "journal": context.journal,
        "started_at": format_local_time(report.started_at, "T"),
        "ended_at": format_local_time(report.ended_at, "T"),
        **counts,
        "rows": report.rows,
        "complete": report.complete,
        "stopped": report.stopped,
        "seconds": round(report.seconds, 3),
        "rows_per_second": round(rate_of(report), 1),
        "totals": report.totals and report.totals.as_values(),
        "rejects": context.rejects,
        "failures": [{"reason": reason, "attempts": attempts} for reason, attempts in most_frequent(report.failures)],
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in context.reasons],
        "resume_command": context.resume_command,
    }


def facts(report: Report, context: RunContext) -> Iterator[tuple[str, str]]:
    """Yield the facts of a report as pairs of name and text."""
    if report.gateway:
        yield "gateway", report.gateway
        yield "location", report.location or "none"
    if context.input:
        yield "input", "standard input" if context.input == "-" else context.input
    if context.journal:
        yield "journal", context.journal
    for name, moment in (("started", report.started_at), ("ended", report.ended_at)):
        if moment is not None:
            yield name, format_local_time(moment)
    if report.totals is not None:
        yield "over all runs", str(report.totals)
        yield "this run", this_run(report)
    yield from _rejects(report, context)


def _rejects(report: Report, context: RunContext) -> Iterator[tuple[str, str]]:
    """Yield where the rejects are: in a file, in the journal, or in both if the run has not reached all of them."""
    states = [str(state) for state, count in report.figures.figures() if count and state in REJECTED_STATES]
    if context.rejects:
        yield "rejects", context.rejects
        if not report.not_reached:
            return
        yield "other rejects", f"{report.not_reached:,} that this run did not reach, in the journal"
    elif not states or context.progress:
        return
    else:
        yield "rejects", "in the journal"
    location = shlex.quote(context.journal) if context.journal else "JOURNAL"
    named = f" --name {shlex.quote(report.name)}" if "://" in location else ""
    for state in states:
        yield f"list {state}", f"gateway-async migrate journal {location}{named} --state {state}"


def failures(report: Report) -> str:
    """Describe how many attempts failed, and why."""
    text = f"{report.failed_attempts:,} {pluralize(report.failed_attempts, 'attempt')} failed"
    most = most_frequent(report.failures)
    reasons = [f"{attempts:,} {reason}" for reason, attempts in most[:_MAX_FAILURES]]
    more = ["…"] if len(most) > len(reasons) else []
    return f"{text}: {'; '.join([*reasons, *more])}" if reasons else text


def most_frequent(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sort the entries, most frequent first."""
    return sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))


def format_local_time(moment: datetime | None, separator: str = " ") -> str:
    """Format a moment in local time with its offset from UTC."""
    return "" if moment is None else moment.astimezone().isoformat(separator, "seconds")


def rate_of(report: Report) -> float:
    """Rows per second over the whole run, without skipped ones."""
    done = report.rows - report.skipped
    return done / report.seconds if report.seconds > 0 else 0.0


def duration(seconds: float) -> str:
    """Format a duration for people: `48 s`, `3 min 20 s`, `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    if minutes:
        return f"{minutes} min {rest:02} s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{rest} s"  # noqa: PLR2004
