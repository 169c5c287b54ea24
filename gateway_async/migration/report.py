"""The report of a migration: counts, reasons and samples, updated while it runs."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

import anyio
import attrs

from gateway_async._background import run_beside
from gateway_async._text import pluralize
from gateway_async.errors import JournalError
from gateway_async.migration.journal.protocol import Journal, RowState
from gateway_async.observe import logger

_MAX_SAMPLES: Final = 600
_COUNT_PAUSE: Final = 0.5
_COUNT_PAUSE_FACTOR: Final = 50
"""Pause after a count of the journal, in multiples of its duration."""
_FIRST_COUNT_SECONDS: Final = 1.0

STATES: Final[Mapping[RowState, str]] = {
    RowState.STORED: "stored",
    RowState.REJECTED: "rejected",
    RowState.REPEATED: "repeated",
    RowState.UNKNOWN: "unknown",
    RowState.SENDING: "in progress",
}
"""State of a row → its name in figures, in their order."""

REJECTED_STATES: Final = (RowState.REJECTED, RowState.REPEATED)
"""The states of rows that are in the file of rejects, with their reasons."""


@attrs.frozen(kw_only=True)
class Totals:
    """The number of rows of each state. Each row counts once.

    `str(totals)` is such as `12 rows: 10 stored, 2 rejected, 0 repeated, 0 unknown`.

    Attributes:
        stored: rows whose account is stored.
        rejected: rows that cannot be stored as they are.
        repeated: rows whose key another row has; that row was sent instead.
        unknown: rows that were sent, and whose outcome is not known.
        sending: rows that were started by a run that was killed, or that runs now. They may be stored.
    """

    stored: int = 0
    rejected: int = 0
    repeated: int = 0
    unknown: int = 0
    sending: int = 0

    @classmethod
    def from_counts(cls, counts: Mapping[RowState, int]) -> "Totals":
        """Create the totals from the counts of a journal."""
        return cls(**{str(state): counts.get(state, 0) for state in RowState})

    @property
    def rows(self) -> int:
        """All rows."""
        return self.stored + self.rejected + self.repeated + self.unknown + self.sending

    def figures(self) -> Iterator[tuple[RowState, int]]:
        """Yield the rows of each state. Without rows in progress, that state is left out."""
        for state in STATES:
            count = getattr(self, state)
            if count or state is not RowState.SENDING:
                yield state, count

    def as_values(self) -> dict[str, int]:
        """The numbers of rows in each state and in all, for JSON."""
        return {"rows": self.rows, **attrs.asdict(self)}

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {STATES[state]}" for state, count in self.figures())
        return f"{self.rows:,} {pluralize(self.rows, 'row')}: {counts}"


_MAX_REASONS: Final = 10_000
"""Maximum number of different reasons; more would not be useful."""

_ROW_DETAILS: Final = (
    (re.compile(r", ends in \w+"), ""),
    (re.compile(r"\bline \d+(?= has the same key)"), "another line"),
    (re.compile(r"\bline \d+"), "a line"),
    (re.compile(r": is \S+, not \S+"), ": differs"),
)
"""Details of a single row, and the common text that replaces them."""

K = TypeVar("K")


def count_reasons(counts: Counter[str], reasons: Iterable[str]) -> None:
    """Count the reasons of a rejected or repeated row, without its details."""
    for reason in reasons:
        count_reason(counts, generalize(reason))


def count_reason(counts: Counter[K], reason: K) -> None:
    """Count a reason, unless there are too many."""
    if reason in counts or len(counts) < _MAX_REASONS:
        counts[reason] += 1


def generalize(reason: str) -> str:
    """Strip a reason of the details of a single row."""
    for detail, common in _ROW_DETAILS:
        reason = detail.sub(common, reason)
    return reason


@attrs.frozen
class Sample:
    """The state of a migration at one moment.

    Attributes:
        seconds: seconds since it started.
        done: rows that had ended, without skipped ones.
        failed_attempts: attempts that had failed.
        limit: number of concurrent calls allowed.
    """

    seconds: float
    done: int
    failed_attempts: int
    limit: int


@attrs.define
class Report:
    """The results of a migration's rows. While it runs, the numbers grow.

    Attributes:
        name: name of the migration.
        stored: rows whose account was stored in this run, or was found by a lookup.
        rejected: rows that cannot be stored as they are. The journal and the file of rejects give the reasons.
        repeated: rows whose key another row has. Of several rows with one key, the first that can be sent is.
        unknown: rows that may be stored or not. Run the migration again: they are looked up first.
        skipped: rows that an earlier run had stored.
        stopped: the reason why it stopped before the end of its input; "" if it did not.
        seconds: duration so far, in seconds.
        failed_attempts: number of failed attempts, without lookups that find nothing and rejections of rows.
        failures: reason of failed attempts → number of attempts.
        in_flight: calls in progress; 0 at the end.
        limit: number of concurrent calls allowed most recently.
        waits_for: what it waits for, such as space on the disk or a gateway that responds; "" if for nothing.
        samples: its progress, evenly over its duration; a few hundred at most.
        gateway: the address that rows were sent to.
        location: the client's location; None if it has none.
        started_at, ended_at: start and end, UTC; None before.
        at_cap: whether rows were held back because `max_rows` were stored.
        share: part of the input that has ended, from 0 to 1; None if that is not known.
        totals: the rows of all runs, counted in the journal now and then, and at the end; None if it cannot be read.
    """

    name: str = ""
    stored: int = 0
    rejected: int = 0
    repeated: int = 0
    unknown: int = 0
    skipped: int = 0
    stopped: str = ""
    seconds: float = 0.0
    failed_attempts: int = 0
    in_flight: int = 0
    limit: int = 0
    waits_for: str = ""
    samples: Sequence[Sample] = attrs.field(factory=list, repr=False)
    failures: Mapping[str, int] = attrs.field(factory=dict)
    gateway: str = ""
    location: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    at_cap: bool = attrs.field(default=False, kw_only=True)
    share: float | None = None
    totals: Totals | None = None

    @property
    def rows(self) -> int:
        """Rows that have ended, with any result."""
        return self.ended.rows

    @property
    def ended(self) -> Totals:
        """The rows that have ended in this run. Those that an earlier run had stored are stored."""
        return Totals(
            stored=self.stored + self.skipped, rejected=self.rejected, repeated=self.repeated, unknown=self.unknown
        )

    @property
    def figures(self) -> Totals:
        """The rows of all runs, as all displays show them; this run's if the journal cannot be read."""
        return self.totals or self.ended

    @property
    def not_reached(self) -> int:
        """The rejected and repeated rows that other runs recorded and this one has not reached again."""
        every, own = self.figures, self.ended
        return max(0, every.rejected + every.repeated - own.rejected - own.repeated)

    @property
    def complete(self) -> bool:
        """Whether every row of the input has ended and none is unknown."""
        return not self.stopped and not self.unknown


_SUMMED: Final = ("stored", "rejected", "repeated", "unknown", "skipped", "failed_attempts", "in_flight", "limit")


def add_up(report: Report, shards: Sequence[Report], stored: int) -> None:
    """Make the figures of a report the sums of its shards.

    A shard that runs again skips the rows that it stored before. Stored rows that are in the journal but in no report
    come from an earlier attempt, or from processes that died: `stored` counts those since the start.
    """
    sums = {name: sum(getattr(each, name) for each in shards) for name in _SUMMED}
    ended = sums["stored"] + sums["skipped"]
    sums["stored"] = max(sums["stored"], stored)
    sums["skipped"] = max(0, ended - sums["stored"])
    sums["limit"] = sums["limit"] or report.limit
    for name, number in sums.items():
        setattr(report, name, number)
    report.waits_for = next((each.waits_for for each in shards if each.waits_for), "")
    report.gateway, report.location = next(
        ((each.gateway, each.location) for each in shards if each.gateway), (report.gateway, report.location)
    )
    report.failures = sum((Counter(each.failures) for each in shards), Counter[str]())


@attrs.define
class ReportCallbacks:
    """Calls the caller's functions with a report, after updating its duration and samples."""

    report: Report
    stop_when: Callable[[Report], str | None] | None = None
    on_progress: Callable[[Report], object] | None = None
    _started_at: float = attrs.field(factory=anyio.current_time)
    _every: int = attrs.field(default=1, init=False)
    _calls: int = attrs.field(default=0, init=False)

    def call(self) -> str | None:
        """Return the reason to stop, if there is one."""
        self.report.seconds = anyio.current_time() - self._started_at
        self._add_sample(self.report)
        if self.on_progress:
            self.on_progress(self.report)
        return self.stop_when(self.report) if self.stop_when else None

    def _add_sample(self, report: Report) -> None:
        """Add a sample. If there are too many, half of them are dropped, so that they stay evenly distributed."""
        if self._calls % self._every == 0:
            sample = Sample(report.seconds, report.rows - report.skipped, report.failed_attempts, report.limit)
            report.samples = [*report.samples, sample]
        self._calls += 1
        if len(report.samples) > _MAX_SAMPLES:
            report.samples, self._every = report.samples[::2], self._every * 2


@asynccontextmanager
async def counting_totals(report: Report, journal: Journal) -> AsyncIterator[anyio.Event]:
    """Count the rows of all runs beside a block, again and again, and once more after it.

    The block starts after the first count, or after a second. In that case the count goes on beside the block: another
    one would delay the journal's writes once more. Yield the event that is set after it.
    """
    is_counted = anyio.Event()
    async with run_beside(partial(_count_often, report, journal, is_counted)):
        with anyio.move_on_after(_FIRST_COUNT_SECONDS):
            await is_counted.wait()
        yield is_counted
    await update_totals(report, journal)


async def update_totals(report: Report, journal: Journal) -> None:
    """Count the rows of all runs at the end; the report has no totals if the journal cannot be read."""
    try:
        report.totals = Totals.from_counts(await journal.counts())
    except JournalError as error:
        report.totals = None
        logger.warning("the rows of all runs could not be counted: %s", error)


async def _count_often(report: Report, journal: Journal, is_counted: anyio.Event) -> None:
    while True:
        began = anyio.current_time()
        with suppress(JournalError):
            report.totals = Totals.from_counts(await journal.counts())
        is_counted.set()
        await anyio.sleep(max(_COUNT_PAUSE, _COUNT_PAUSE_FACTOR * (anyio.current_time() - began)))
