"""A report as one sentence, as facts and as plain values, for the terminal, JSON and HTML."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import attrs

from gateway_async.migration.journal.protocol import RowState
from gateway_async.migration.report import Report

__all__ = ["Surroundings", "duration", "facts", "failures", "headline", "local_time", "plain", "rate_of"]

_MOST_FAILURES: Final = 5
_TOTALS: Final[Mapping[RowState, str]] = {
    RowState.STORED: "stored",
    RowState.REJECTED: "rejected",
    RowState.UNKNOWN: "unknown",
    RowState.SENDING: "to be looked up",
}


@attrs.frozen(kw_only=True)
class Surroundings:
    """The facts that a report names in addition to the run's numbers.

    Attributes:
        input: the file, or - for standard input.
        journal: the file or address of the journal, without a password.
        totals: rows of each state over all runs, from the journal; None if it cannot be counted.
        rejects: the file of rejects that this run has written; "" without one.
    """

    input: str = ""
    journal: str = ""
    totals: Mapping[RowState, int] | None = None
    rejects: str = ""


def headline(report: Report) -> str:
    """Return the result of a migration in one sentence."""
    if report.stopped:
        return f"Stopped before the end: {report.stopped.rstrip('.')}."
    if report.unknown:
        return f"Every row has ended, and of {report.unknown:,} nobody knows yet whether they are stored."
    if not report.rows:
        return "There was nothing to migrate: the input holds no rows."
    if report.rejected:
        return f"Every row has ended; {report.rejected:,} of {report.rows:,} were rejected."
    return "Complete: every row is stored."


def plain(
    report: Report,
    reasons: Iterable[tuple[str, int]] = (),
    again: str = "",
    surroundings: Surroundings | None = None,
) -> dict[str, Any]:
    """Return the report as values for JSON; times are local, in ISO 8601 with their offset from UTC.

    Args:
        report: the results of the rows.
        reasons: the reasons of rejections, and the number of rows for each.
        again: the command that continues the migration.
        surroundings: the input, the journal and its counts, the rejects.
    """
    around = surroundings or Surroundings()
    totals = None if around.totals is None else {str(state): around.totals.get(state, 0) for state in RowState}
    counts = {name: getattr(report, name) for name in ("stored", "rejected", "unknown", "skipped", "trouble")}
    return {
        "name": report.name,
        "gateway": report.gateway,
        "location": report.location,
        "input": around.input,
        "journal": around.journal,
        "began": local_time(report.began, "T"),
        "ended": local_time(report.ended, "T"),
        **counts,
        "rows": report.rows,
        "complete": report.complete,
        "stopped": report.stopped,
        "seconds": round(report.seconds, 3),
        "rows_per_second": round(rate_of(report), 1),
        "totals": totals,
        "rejects": around.rejects,
        "failures": [{"reason": reason, "attempts": attempts} for reason, attempts in _most_frequent(report.failures)],
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in reasons],
        "again": again,
    }


def facts(report: Report, surroundings: Surroundings) -> Iterator[tuple[str, str]]:
    """Yield the facts of a report as pairs of name and text."""
    if report.gateway:
        yield "gateway", report.gateway
        yield "location", report.location or "none of the client's own"
    if surroundings.input:
        yield "input", "standard input" if surroundings.input == "-" else surroundings.input
    if surroundings.journal:
        yield "journal", surroundings.journal
    for name, moment in (("began", report.began), ("ended", report.ended)):
        if moment is not None:
            yield name, local_time(moment)
    totals = surroundings.totals
    if totals is not None:
        counts = [f"{totals.get(state, 0):,} {said}" for state, said in _TOTALS.items()]
        yield "over all runs", ", ".join(counts[:3] if not totals.get(RowState.SENDING) else counts)
    yield from _rejects(report, surroundings)


def _rejects(report: Report, surroundings: Surroundings) -> Iterator[tuple[str, str]]:
    """Yield where the rejects are: in a file, or only in the journal."""
    if surroundings.rejects:
        yield "rejects", surroundings.rejects
    elif report.rejected:
        place = shlex.quote(surroundings.journal) if surroundings.journal else "JOURNAL"
        named = f" --name {shlex.quote(report.name)}" if "://" in place else ""
        yield "rejects", f"in the journal; gateway-async migrate journal {place}{named} --state rejected lists them"


def failures(report: Report) -> str:
    """Return how many attempts failed, and the reasons, as text."""
    said = f"{report.trouble:,} attempts failed"
    most = _most_frequent(report.failures)
    whys = [f"{attempts:,} {reason}" for reason, attempts in most[:_MOST_FAILURES]]
    more = ["…"] if len(most) > len(whys) else []
    return f"{said}: {'; '.join([*whys, *more])}" if whys else said


def _most_frequent(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))


def local_time(moment: datetime | None, separator: str = " ") -> str:
    """Format a moment in local time with its offset from UTC, to the second; "" for None."""
    return "" if moment is None else moment.astimezone().isoformat(separator, "seconds")


def rate_of(report: Report) -> float:
    """Return rows per second over the whole run, without skipped ones."""
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
