"""`SqliteJournal`: a migration's journal in one SQLite file. Beginnings are waited for; ends go along with them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs

from gateway_async._scribe import Scribe
from gateway_async.errors import JournalError
from gateway_async.migration._journal_file import JournalFile
from gateway_async.migration.journal import Begin, End, Entry, RowState, Run

__all__ = ["SqliteJournal"]

T = TypeVar("T")


class SqliteJournal:
    """A journal in an SQLite file, for any number of processes of one machine; `PostgresJournal` is for several.

        await migrate_vaults(gateway, rows, journal=SqliteJournal("cards.journal"))

    The file is opened, or made, when it is first needed. What is begun is on the disk (WAL, `synchronous=FULL`) before
    it is sent, and outlives `kill -9` and a loss of power. SQLite's locks do not hold over a network share. It runs on
    asyncio and on trio.

    Of a card the file holds the last four digits and the brand. Without a name of its own a migration has the file's,
    without its last suffix.

    Args:
        path: the file; `-wal` and `-shm` beside it belong to it. Its folder must exist.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).absolute()
        self._scribe = Scribe(
            "gateway_async journal",
            partial(_Book, self._path),
            partial(JournalError, str(self._path), "it is closed"),
        )

    async def start(self, name: str | None, gateway: str = "") -> Run:
        """Begin a run."""
        return await self._ask(lambda file: file.start(name, gateway), writes=True)

    async def begin(self, rows: Sequence[Begin]) -> Sequence[Entry | None]:
        """Note rows that are about to be sent; what was known of each."""
        return await self._ask(lambda file: file.begin(rows), writes=True)

    async def end(self, rows: Sequence[End]) -> None:
        """Note what became of rows; it is on the disk a moment later."""
        self._scribe.leave(_Demand(lambda file: file.end(rows), writes=True))

    async def forget(self, rows: Sequence[Begin]) -> None:
        """Take back rows that were not sent; it is on the disk a moment later."""
        self._scribe.leave(_Demand(lambda file: file.forget(rows), writes=True))

    async def forget_rejected(self) -> None:
        """Have rows that were rejected be new again."""
        await self._ask(lambda file: file.forget_rejected(), writes=True)

    async def flush(self) -> None:
        """Have all that was noted on the disk."""
        await self._ask(_nothing, writes=True)

    async def entries(
        self, state: RowState | None = None, *, after: str | None = None, limit: int = 5000
    ) -> Sequence[Entry]:
        """Rows by key."""
        return await self._ask(lambda file: file.entries(state, after, limit))

    async def counts(self) -> Mapping[RowState, int]:
        """How many rows there are of each state."""
        return await self._ask(lambda file: file.counts())

    async def aclose(self) -> None:
        """Write what waits and close the file, in 15 seconds at most; a second close is harmless."""
        await self._scribe.aclose()

    async def _ask(self, act: "Callable[[JournalFile], T | JournalError]", *, writes: bool = False) -> T:
        return cast("T", await self._scribe.ask(_Demand(act, writes)))

    def __repr__(self) -> str:
        return f"SqliteJournal({str(self._path)!r})"


@attrs.frozen
class _Demand:
    """Something to be done with the file."""

    act: Callable[[JournalFile], Any]
    writes: bool


def _nothing(_file: JournalFile) -> None:
    """What has to be done when all that matters is that the rest is."""


class _Book:
    """The file; what is left over goes first, so that what is asked knows of it."""

    def __init__(self, path: Path) -> None:
        self._file = JournalFile(path)

    def carry_out(self, asked: Sequence[_Demand], left: Sequence[_Demand]) -> Sequence[Any]:
        """Do all of it in one transaction, then answer the questions."""
        if not left and not any(demand.writes for demand in asked):
            return [demand.act(self._file) for demand in asked]
        with self._file.writing():
            for demand in left:
                demand.act(self._file)
            return [demand.act(self._file) for demand in asked]

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
