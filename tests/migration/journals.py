"""A journal of each kind, for tests, and rows to put into it."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import attrs

from gateway_async import JournalError
from gateway_async.migration.journal.protocol import (
    UNRESOLVED_STATES,
    Journal,
    JournalEntry,
    JournalRun,
    RowResult,
    RowStarted,
    RowState,
    read_rows_of,
    split_new_rows,
)
from gateway_async.migration.journal.store import PostgresJournal, SqliteJournal
from gateway_async.migration.report import Report
from tests.support.ledgers import ask_postgres
from tests.support.servers import POSTGRES

Another = Callable[[], Journal]


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Another]:
    """Return a function that opens journals on one store, as several processes do."""
    made: list[Journal] = []
    table = f"journal_{token_hex(6)}"

    def another() -> Journal:
        is_file = kind == "sqlite"
        made.append(
            SqliteJournal(folder / "cards.journal") if is_file else PostgresJournal(POSTGRES, "cards", table=table)
        )
        return made[-1]

    try:
        yield another
    finally:
        for journal in made:
            await journal.aclose()
        if kind == "postgres":
            ask_postgres(f"DROP TABLE IF EXISTS {table}, {table}_runs, {table}_not_started")


def begin(key: str, fingerprint: str = "f", line: int | None = 2, row_number: int = 0) -> RowStarted:
    return RowStarted(
        key=key, api_id=f"id-{key}", fingerprint=fingerprint, line=line, row_number=row_number or line or 0
    )


def end(key: str, state: RowState, fingerprint: str = "f", **facts: Any) -> RowResult:
    return RowResult(key=key, api_id=f"id-{key}", state=state, fingerprint=fingerprint, line=2, **facts)


def stored(key: str, fingerprint: str = "f") -> RowResult:
    return end(key, RowState.STORED, fingerprint, vault_id=f"v-{key}", last_four="1111", brand="visa")


def counts(report: Report) -> tuple[int, int, int, int]:
    return report.stored, report.rejected, report.unknown, report.skipped


class MemoryJournal:
    """A journal of a test's own, in memory.

    Attributes:
        kept: rows by key.
        others: rows that were not started, by row number.
        broken: why it cannot be written; "" if it can.
        run: the number of the last run.
    """

    def __init__(self) -> None:
        self.kept: dict[str, JournalEntry] = {}
        self.others: dict[int, JournalEntry] = {}
        self.broken = ""
        self.run = 0
        self.is_closed = False

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        self.gateway = gateway
        self.run += 1
        self.since = since or self.run
        return JournalRun(name or "cards", self.run)

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        self._check()
        now = datetime.now(UTC)
        responses, new = split_new_rows(rows, self.kept, self.run, now, self.since)
        read = read_rows_of(rows, responses, self.since)
        for key in {row.key for row in rows} & self.kept.keys():
            if self.kept[key].state in UNRESOLVED_STATES:
                self.kept[key] = attrs.evolve(self.kept[key], run=self.run)
        for row in new:
            self._keep(RowResult(**attrs.asdict(row), state=RowState.SENDING))
        for row in (*new, *read):
            self.kept[row.key] = attrs.evolve(
                self.kept[row.key], line=row.line, row_number=row.row_number, read_by=self.run
            )
            self.others.pop(row.row_number, None)
        return responses

    async def record_results(self, rows: Sequence[RowResult]) -> None:
        self._check()
        for row in rows:
            known = self.kept.get(row.key)
            if not row.started:
                self.others[row.row_number] = self._entry(row)
            elif known is None or known.state is not RowState.STORED:
                self._keep(row)

    async def delete_unsent(self, rows: Sequence[RowStarted]) -> None:
        self._check()
        for row in rows:
            if self.kept[row.key].state is RowState.SENDING:
                del self.kept[row.key]

    async def delete_rejected(self) -> None:
        self.kept = {key: entry for key, entry in self.kept.items() if entry.state is not RowState.REJECTED}

    async def finish(self) -> None:
        """Forget what earlier runs noted of rows that were not started."""
        self._check()
        self.others = {number: row for number, row in self.others.items() if row.run >= self.since}
        superseded = {row.key for row in self.others.values()}
        for key, entry in [*self.kept.items()]:
            if entry.state is RowState.REJECTED and entry.read_by < self.since and key in superseded:
                del self.kept[key]

    async def flush(self) -> None:
        """Nothing waits."""
        self._check()

    async def entries(
        self, state: RowState | None = None, *, after: str | None = None, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        rows = sorted(self.kept.values(), key=lambda entry: entry.key)
        return [row for row in rows if state in (None, row.state) and row.key > (after or "")][:limit]

    async def not_started(
        self, state: RowState | None = None, *, after: int = 0, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Rows by row number."""
        rows = sorted(self.others.values(), key=lambda entry: entry.row_number)
        return [row for row in rows if state in (None, row.state) and row.row_number > after][:limit]

    async def counts(self) -> Mapping[RowState, int]:
        return Counter(entry.state for entry in (*self.kept.values(), *self.others.values()))

    async def aclose(self) -> None:
        self.is_closed = True

    def states(self) -> dict[str, str]:
        return {key: str(entry.state) for key, entry in self.kept.items()}

    def _keep(self, row: RowResult) -> None:
        known = self.kept.get(row.key)
        self.kept[row.key] = attrs.evolve(self._entry(row), read_by=known.read_by if known else 0)

    def _entry(self, row: RowResult) -> JournalEntry:
        facts = attrs.asdict(row, filter=lambda field, _: field.name != "started")
        return JournalEntry(**facts, run=self.run, changed_at=datetime.now(UTC))

    def _check(self) -> None:
        if self.broken:
            raise JournalError("memory", self.broken)
