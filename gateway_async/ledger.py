"""What a ledger keeps of calls that move money or store an account: an intent before, an outcome after.

An intent is on disk before the first byte of its call is sent. So whatever a crash leaves behind stands there as an
open intent, and `AsyncGateway.recover()` finds out what became of it. The law of this file: nothing of a card, an
account or a person, only ids, amounts and times.
"""

from collections.abc import Awaitable, Generator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import attrs

from gateway_async.errors import GatewayError

__all__ = ["KEPT", "Intent", "Ledger", "Recovered"]


class _Kept:
    """Awaited, it is there at once."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


KEPT: Final[Awaitable[None]] = _Kept()
"""What `Ledger.settle` may return where nobody has to wait: a client then spends no time on bounding the wait."""


@attrs.frozen(kw_only=True)
class Intent:
    """A call that is about to be sent.

    Attributes:
        id: the intent's own.
        call: such as `"POST /v2/transactions"`.
        resource: where the call stands on the client, such as `"router_transactions"`.
        api_id: the integrator id of what is written, or None when it has none.
        location_id: the location in which that id is unique, as far as it is known.
        terminal_id: the terminal the call waits at, or None.
        sent_at: when, in UTC.
        certain_at: when nothing of the call can be under way any more, in UTC: from then on "not there" means that it
            was not carried out.
        sent: what is sent of ids and amounts, as text.
        inquiry: what tells later whether the call was carried out, as JSON; None when nothing can.
        gateway: the address of the gateway that it is sent to; only that one can tell. "" where it is not known.
    """

    id: str
    call: str
    resource: str
    api_id: str | None
    location_id: str | None
    terminal_id: str | None
    sent_at: datetime
    certain_at: datetime
    sent: Mapping[str, str] = attrs.field(hash=False)
    inquiry: Mapping[str, Any] | None = attrs.field(hash=False)
    gateway: str = ""


class Ledger(Protocol):
    """Where a client puts down its intents. `SqliteLedger` is one; any object with these methods is another.

    What a method raises ends the call as `NotSentError` where it is `intend`, and is logged where it is `settle`.
    """

    async def intend(self, intent: Intent) -> None:
        """Keep `intent`. It is on disk when this returns, so that it outlives the process and the machine's power.

        When it is cancelled or fails, the client goes on to settle the intent as `"not_sent"`.
        """
        ...

    def settle(self, intent_id: str, outcome: str, record_id: str | None = None) -> Awaitable[None]:
        """Keep what became of an intent; this need not be on disk when it returns. As an `async def`, or with `KEPT`.

        An intent of which nobody knows stays open: it is not settled. What has been settled already stays as it is;
        an unknown id is ignored.

        Args:
            intent_id: the intent's id.
            outcome: `"done"` (a decline is done too: there is a record that says so), `"refused"` by the gateway,
                `"not_sent"`, or `"not_made"`: sent perhaps, and certainly not carried out.
            record_id: the gateway's id of the record that says so, where there is one.
        """
        ...

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """The intents that are not settled, the oldest first; only those of a terminal where one is named."""
        ...

    async def aclose(self) -> None:
        """Put everything on disk and let go of it; a second close is harmless."""
        ...


@attrs.frozen(kw_only=True)
class Recovered:
    """What became of a call whose outcome was open, as `AsyncGateway.recover()` found out.

    Attributes:
        call: such as `"POST /v2/transactions"`.
        resource: where the call stands on the client, such as `"router_transactions"`.
        api_id: the integrator id of what was written, or None when it has none.
        outcome: `"found"` (it was carried out), `"not_made"` (it certainly was not) or `"unknown"`; only the last one
            stays open, to be looked up by the next `recover()`.
        record: the record that was found; a decline is one too.
        error: what stood in the way of knowing, if something did.
        sent_at: when the call was about to be sent, in UTC.
        sent: what was sent of ids and amounts, as text.
    """

    call: str
    resource: str
    api_id: str | None
    outcome: str
    record: Any = None
    error: GatewayError | None = None
    sent_at: datetime
    sent: Mapping[str, str] = attrs.field(hash=False)
