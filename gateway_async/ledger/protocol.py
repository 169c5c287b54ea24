"""The ledger protocol: an intent before each payment, an outcome after it.

The intent of a call is on disk before the first byte of the call is sent. After a crash, each unfinished call is an
open intent in the ledger, and `AsyncGateway.recover()` finds its outcome. A ledger contains only ids, amounts and
times, and nothing of a card, an account or a person.
"""

from collections.abc import AsyncIterator, Awaitable, Generator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import attrs

from gateway_async.errors import GatewayError


class _Completed:
    """An awaitable that completes immediately."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


DONE: Final[Awaitable[None]] = _Completed()
"""What `Ledger.record_outcome` returns if there is nothing to wait for.

The client then skips the wait.
"""


@attrs.frozen(kw_only=True)
class Intent:
    """A call that is about to be sent.

    Attributes:
        id: the intent's own id. Ids sort by `sent_at`.
        call: such as `"POST /v2/transactions"`.
        resource: the attribute of the client that makes the call, such as `"router_transactions"`.
        api_id: the integrator id of what is written, or None if it has none.
        location_id: the location in which that id is unique, if it is known.
        terminal_id: the terminal at which the call waits, or None.
        sent_at: when the call was about to be sent, in UTC.
        conclusive_at: `sent_at` plus the time for which the call is in doubt: the time of its attempts, the client's
            `in_doubt_seconds`, and 300 seconds at a terminal. Only the difference of the two is used, because clocks
            are not trusted after a crash.
        sent: the ids and amounts that are sent, as text.
        outcome_query: how to find out later whether the call was executed, as JSON; None if that is not possible.
        gateway: the address of the gateway to which it is sent. Only that gateway can look it up. "" if unknown.
        orphaned: whether the process that wrote it has certainly exited: no attempt is in progress.
    """

    id: str
    call: str
    resource: str
    api_id: str | None
    location_id: str | None
    terminal_id: str | None
    sent_at: datetime
    conclusive_at: datetime
    sent: Mapping[str, str] = attrs.field(hash=False)
    outcome_query: Mapping[str, Any] | None = attrs.field(hash=False)
    gateway: str = ""
    orphaned: bool = False


@attrs.frozen
class StoredIntent:
    """An intent and its outcome as stored in a ledger.

    Attributes:
        intent: the intent.
        outcome: the outcome as in `Ledger.record_outcome`; None if it is open.
        record_id: the gateway's id of the record that proves the outcome, if there is one.
        resolved_at: when the outcome was recorded, in UTC; None if it is open.
    """

    intent: Intent
    outcome: str | None
    record_id: str | None
    resolved_at: datetime | None


class Ledger(Protocol):
    """Store for a client's intents and outcomes.

    `SqliteLedger` and `PostgresLedger` implement it, and any other object with these methods can be used. An exception
    from `record_intent` ends the call as `NotSentError`. An exception from `record_outcome` is logged.

    The client cancels a method that does not end: `record_intent` and `open_intents` after 30 seconds (`LedgerError`,
    or the `NotSentError` of a waiting call), `record_outcome` after 5 (logged), and `aclose` after 20 (`LedgerError`).
    """

    async def record_intent(self, intent: Intent) -> None:
        """Store `intent` durably before its call is sent.

        When this returns, the intent is on disk, and survives a crash of the process and a loss of power. If this is
        cancelled or fails, the client records the outcome `"not_sent"`.
        """
        ...

    def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> Awaitable[None]:
        """Store the outcome of an intent.

        The outcome need not be on disk when this returns. Implement it as an `async def`, or return `DONE`. An intent
        with an unknown outcome stays open: this method is not called for it. A recorded outcome is not replaced, except
        by `"done"`. An unknown id is ignored.

        Args:
            intent_id: the intent's id.
            outcome: `"done"` (also for a decline, which has a record too), `"refused"` by the gateway, `"not_sent"`, or
                `"not_made"`: possibly sent, and certainly not executed.
            record_id: the gateway's id of the record that proves it, if there is one.
        """
        ...

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """List the intents without an outcome, oldest first.

        With `terminal_id`, return all intents of that terminal, and no others. Without it, a ledger may leave out the
        calls of other live processes, which may still be in progress.
        """
        ...

    async def aclose(self) -> None:
        """Write everything to disk and close the ledger; closing twice is harmless."""
        ...


class ReadableLedger(Ledger, Protocol):
    """A ledger that also returns resolved intents. `AsyncGateway.reconcile()` needs it.

    `SqliteLedger` and `PostgresLedger` implement it.
    """

    def entries(self, since: datetime) -> AsyncIterator[StoredIntent]:
        """Iterate over the intents with `sent_at` from `since`, the oldest first.

        Open and resolved intents of all processes are included. Raise an error if resolved intents of that time may
        have been deleted.
        """
        ...


@attrs.frozen(kw_only=True)
class Recovered:
    """Outcome of an interrupted call, as `AsyncGateway.recover()` found it.

    Attributes:
        call: such as `"POST /v2/transactions"`.
        resource: the attribute of the client that made the call, such as `"router_transactions"`.
        api_id: the integrator id of what was written, or None if it has none.
        outcome: `"found"` (it was executed), `"not_made"` (it certainly was not) or `"unknown"`. Only an unknown one
            stays open, and the next `recover()` looks it up again.
        record: the record that was found, which may be a decline.
        error: why the outcome is unknown; None for a known one.
        sent_at: when the call was about to be sent, in UTC.
        sent: the ids and amounts that were sent, as text.
    """

    call: str
    resource: str
    api_id: str | None
    outcome: str
    record: Any = None
    error: GatewayError | None = None
    sent_at: datetime
    sent: Mapping[str, str] = attrs.field(hash=False)
