"""`SqliteLedger`: a ledger in one SQLite file.

Callers wait until an intent is on disk. Outcomes are written a moment later, together with other writes.
"""

from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import cast

from gateway_async._arguments import retention_period
from gateway_async._storage.group_commit import GroupCommitWriter
from gateway_async.errors import LedgerError
from gateway_async.ledger._sqlite_store import LedgerFile, OpenIntents, Outcome
from gateway_async.ledger.protocol import DONE, Intent

__all__ = ["SqliteLedger"]


class SqliteLedger:
    """A ledger in an SQLite file; each client needs its own object.

        AsyncGateway(..., ledger=SqliteLedger("payments.db"))

    Any number of ledgers can share one file. The file is opened or created on first use. An intent is on disk (WAL,
    `synchronous=FULL`) before its call is sent, and survives `kill -9` and a loss of power. Several processes of one
    machine may use one file at the same time. Do not put it on a network share, because SQLite's locks do not work
    there. It runs on asyncio and on trio, and under several event loops. In a process that was forked after its first
    use it is closed.

    Of a card or an account, the file contains only the last four digits, by which a stored card is recognized.

    Args:
        path: the file; the files with the suffixes `-wal` and `-shm` belong to it. Its folder must exist.
        keep_days: days for which resolved intents are kept for inspection. Open intents are kept until they are
            resolved.

    Raises:
        InvalidRequestError: `keep_days` is not a number above 0.
    """

    def __init__(self, path: str | PathLike[str], *, keep_days: float = 30.0) -> None:
        retention = retention_period(keep_days)
        self._path = Path(path).absolute()
        self._writer = GroupCommitWriter(
            "gateway_async ledger",
            partial(LedgerFile, self._path, retention),
            partial(LedgerError, str(self._path), "it is closed"),
        )

    async def record_intent(self, intent: Intent) -> None:
        """Write an intent to disk.

        Raises:
            LedgerError: it cannot be written.
        """
        await self._writer.submit(intent)

    def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> Awaitable[None]:
        """Record the outcome of an intent; it is on disk a moment later.

        Raises:
            LedgerError: the ledger is closed.
        """
        self._writer.submit_nowait(Outcome(intent_id, outcome, record_id, datetime.now(UTC)))
        return DONE

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """Return the intents without an outcome, the oldest first.

        With `terminal_id`, return only the intents of that terminal.

        Raises:
            LedgerError: the file cannot be read.
        """
        return cast("Sequence[Intent]", await self._writer.submit(OpenIntents(terminal_id)))

    async def aclose(self) -> None:
        """Write what is pending and close the file, within 15 seconds.

        A client closes the ledger that it was given. A second close is harmless. Later calls raise `LedgerError`.
        """
        await self._writer.aclose()

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self._path)!r})"
