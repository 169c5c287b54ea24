"""`Recovering`: what became of the calls that a ledger has open intents of, by reading.

The law of this file: nothing is sent here but reads; "not there" is believed only when nothing can be under way.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
import attrs

from gateway_async._net.books import Books
from gateway_async._wire.call import NOT_DONE, Call, Kind
from gateway_async._wire.retrying import Verdict, decide
from gateway_async.errors import GatewayError, InvalidRequestError
from gateway_async.ledger import Intent, Recovered
from gateway_async.observe import Event, LookedUp

__all__ = ["LookupOf", "Recovering"]

LookupOf = Callable[[Mapping[str, Any]], "Call[Any] | None"]
"""An inquiry as a ledger has it → the read that answers it, or None when nothing does."""

_AT_ONCE: Final = 32
_LONGEST_PAUSE: Final = 5.0
_EVENTS: Final = {"found": "found", "not_made": "not there", "unknown": "unknown"}


class Recovering:
    """Settles what is left open.

    Args:
        books: the client's ledger.
        read: carries out a lookup, with attempts and a deadline of its own.
        lookup_of: an intent's inquiry → its lookup.
        tell: told of what was found.
    """

    def __init__(
        self,
        books: Books,
        read: Callable[[Call[Any]], Awaitable[Any]],
        lookup_of: LookupOf,
        tell: Callable[[Event], None],
    ) -> None:
        self._books = books
        self._read = read
        self._lookup_of = lookup_of
        self._tell = tell
        self._places = anyio.Semaphore(_AT_ONCE)

    async def recover(self, wait: float) -> list[Recovered]:
        """What became of each open intent, the oldest first; settled in the ledger where it is known.

        Args:
            wait: seconds to wait at most for what may still be under way.

        Raises:
            GatewayError: the ledger cannot be read.
        """
        left_open = await self._books.left_open()
        until = anyio.current_time() + wait
        found: dict[str, Recovered] = {}

        async def recover_one(intent: Intent, certain: float) -> None:
            found[intent.id] = await self._recovered(intent, certain, until)

        async with anyio.create_task_group() as tasks:
            for intent, certain_in in left_open:
                tasks.start_soon(recover_one, intent, anyio.current_time() + certain_in)
        return [found[intent.id] for intent, _ in left_open]

    async def _recovered(self, intent: Intent, certain: float, until: float) -> Recovered:
        answer = await self._answer(intent, certain, until)
        if answer.outcome != "unknown":
            await self._books.settle(intent.id, "done" if answer.outcome == "found" else "not_made", answer.record)
        self._tell(LookedUp(call=intent.call, api_id=intent.api_id, outcome=_EVENTS[answer.outcome]))
        return Recovered(
            call=intent.call,
            resource=intent.resource,
            api_id=intent.api_id,
            outcome=answer.outcome,
            record=answer.record,
            error=answer.error,
            sent_at=intent.sent_at,
            sent=intent.sent,
        )

    async def _answer(self, intent: Intent, certain: float, until: float) -> "_Answer":
        """Ask until it is known, or cannot be, or the time is over."""
        if self._books.is_elsewhere(intent):
            said = f"it was sent to {intent.gateway}: recover it with a client of that gateway"
            return _Answer("unknown", error=InvalidRequestError(said))
        lookup = None if intent.inquiry is None else self._lookup_of(intent.inquiry)
        if lookup is None:
            return _Answer("unknown")
        pause = 0.25
        while True:
            answer = await self._asked(lookup, certain)
            now = anyio.current_time()
            if answer.is_final or now >= until:
                return answer
            pause = min(pause * 2, _LONGEST_PAUSE)
            await anyio.sleep(min(pause, until - now, certain - now if certain > now else math.inf))

    async def _asked(self, lookup: Call[Any], certain: float) -> "_Answer":
        async with self._places:
            began = anyio.current_time()
            try:
                found = await self._read(lookup)
            except GatewayError as error:
                return _Answer("unknown", error=error, is_final=not _passes(error))
        if found is not NOT_DONE:
            return _Answer("found", record=found)
        return _Answer("not_made") if began >= certain else _Answer("unknown", is_final=False)


def _passes(error: GatewayError) -> bool:
    """Whether asking again later may tell more, beyond the tries of a lookup."""
    return not isinstance(error, InvalidRequestError) and decide(Kind.READ, error).step is Verdict.AGAIN


@attrs.frozen
class _Answer:
    """What a lookup told; `is_final` when asking again would not tell more."""

    outcome: str
    record: Any = None
    error: GatewayError | None = None
    is_final: bool = True
