"""`SqlLedger`: what `SqliteLedger` and `PostgresLedger` share.

Callers wait until an intent is committed. Outcomes are written a moment later, together with other writes.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from gateway_async._storage.group_commit import WriterBackend
from gateway_async._storage.sql import QueuedStore
from gateway_async._text import pluralize
from gateway_async.errors import InvalidRequestError, LedgerError
from gateway_async.ledger import _operations as operations
from gateway_async.ledger.protocol import DONE, Intent, StoredIntent

_PAGE: Final = 1000
"""Intents that `entries` reads at once, because payments wait meanwhile."""


class SqlLedger:
    """A ledger that is written by a thread.

    Args:
        location: the file or the database, without a password.
        open_backend: opens it, in the thread, on first use.
        retention: how long resolved intents are kept.
    """

    def __init__(self, location: str, open_backend: Callable[[], WriterBackend], retention: timedelta) -> None:
        self._location = location
        self._retention = retention
        closed = partial(LedgerError, location, "it is closed")
        self._store = QueuedStore("gateway_async ledger", open_backend, closed)

    async def record_intent(self, intent: Intent) -> None:
        """Write an intent to disk.

        Raises:
            LedgerError: it cannot be written.
        """
        await self._store.run_merged(operations.record_intents, intent)

    def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> Awaitable[None]:
        """Record the outcome of an intent; it is on disk a moment later.

        Raises:
            LedgerError: the ledger is closed.
        """
        recorded = operations.RecordedOutcome(intent_id, outcome, record_id, datetime.now(UTC))
        self._store.run_merged_soon(operations.record_outcomes, recorded)
        return DONE

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """Return the intents without an outcome, the oldest first.

        With `terminal_id`, return only the intents of that terminal.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        return await self._store.read(operations.open_intents, terminal_id)

    async def entries(self, since: datetime) -> AsyncIterator[StoredIntent]:
        """Iterate over the intents with `sent_at` from `since`, the oldest first.

        Open and resolved intents of all processes are included. They are read in pages, so that a long ledger needs
        little memory.

        Raises:
            InvalidRequestError: resolved intents of that time may have been deleted.
            LedgerError: the ledger cannot be read.
        """
        if datetime.now(UTC) - since > self._retention:
            days = self._retention / timedelta(days=1)
            raise InvalidRequestError(
                f"since: too early, resolved intents are kept for {days:g} {pluralize(days, 'day')} (see keep_days)"
            )
        after = operations.id_before(since)
        while page := await self._store.read(operations.entries_after, after, _PAGE):
            for stored in page:
                yield stored
            after = page[-1].intent.id

    async def aclose(self) -> None:
        """Write what is pending and close the ledger, within 15 seconds.

        A client closes the ledger that it was given. A second close is harmless. Later calls raise `LedgerError`.

        Raises:
            LedgerError: it took longer, so the last outcomes may not be written. Their intents are then open.
        """
        await self._store.aclose()
        if self._store.writer.is_running:
            raise LedgerError(self._location, "it does not respond, and was not closed")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self).get('_location', '')!r})"  # also of one whose arguments are wrong
