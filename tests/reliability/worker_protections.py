"""Protections that are switched off in worker processes, to show that a row of the table depends on them."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, Final
from unittest.mock import patch

from gateway_async._execution.recorder import LedgerRecorder
from gateway_async.migration.recorder import JournalWriter
from gateway_async.postbacks import Postback, SqliteInbox
from gateway_async.sandbox.runtime.store import Store
from tests.reliability.condition import Protection

WITHOUT: Final = "GATEWAY_TEST_WITHOUT"
"""The environment variable that names the protection to switch off in workers."""

_DELAY_SECONDS: Final = 0.05
_WRITES_IN_COMMIT: Final = 20


@contextmanager
def _naming(name: str) -> Iterator[None]:
    with patch.dict(os.environ, {WITHOUT: name}):
        yield


def without(name: str) -> Mapping[str, Protection]:
    """Return a protection, by its name, that is switched off in the workers of a condition."""
    return {name: partial(_naming, name)}


def switch_off(name: str) -> AbstractContextManager[object]:
    """Switch off a protection in this process; "" for none."""
    return _SWITCHES[name]() if name else nullcontext()


def _send_before_journal() -> AbstractContextManager[object]:
    """Send rows that are not in the journal."""

    async def record_nothing(_: JournalWriter, rows: Sequence[Any]) -> Sequence[None]:
        return [None] * len(rows)

    return patch.object(JournalWriter, "record_starts", record_nothing)


def _send_before_intent() -> AbstractContextManager[object]:
    """Send payments whose intent is not in the ledger."""

    async def record_nothing(*_: object) -> None:
        """Record nothing."""

    return patch.object(LedgerRecorder, "record_intent", record_nothing)


def _acknowledge_before_commit() -> AbstractContextManager[object]:
    """Acknowledge postbacks a moment before they are stored."""
    store, pending = SqliteInbox.store, set[asyncio.Task[None]]()

    async def store_later(inbox: SqliteInbox, postback: Postback[Any]) -> None:
        await asyncio.sleep(_DELAY_SECONDS)
        await store(inbox, postback)

    async def acknowledge(inbox: SqliteInbox, postback: Postback[Any]) -> bool:
        task = asyncio.create_task(store_later(inbox, postback))
        pending.add(task)
        task.add_done_callback(pending.discard)
        return True

    return patch.object(SqliteInbox, "store", acknowledge)


def _respond_before_commit() -> AbstractContextManager[object]:
    """Let a sandbox commit several writes together, after it has responded to the first of them."""
    depth = transactions = 0

    @contextmanager
    def transaction(store: Store) -> Iterator[None]:
        nonlocal depth, transactions
        if not store._connection.in_transaction:
            store._connection.execute("BEGIN IMMEDIATE")
        depth += 1
        yield
        depth -= 1
        transactions += depth == 0
        if depth == 0 and transactions % _WRITES_IN_COMMIT == 0:
            store._connection.execute("COMMIT")

    return patch.object(Store, "transaction", transaction)


_SWITCHES: Final[Mapping[str, Callable[[], AbstractContextManager[object]]]] = {
    "journal-before-send": _send_before_journal,
    "intent-before-send": _send_before_intent,
    "commit-before-acknowledgement": _acknowledge_before_commit,
    "commit-before-response": _respond_before_commit,
}
