"""`Settling`: learns what became of a write whose answer was lost, by reading.

The law of this file: nothing is sent here but lookups. What they cannot settle is `OutcomeUnknownError`.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

import anyio

from gateway_async._net.books import Books
from gateway_async._net.delivery import LOOKUP_SECONDS, MAY_ARRIVE_SECONDS, Delivery, NotDoneError
from gateway_async._wire.call import NOT_DONE, Call, Kind, NotDone
from gateway_async._wire.retrying import Verdict, fate_of
from gateway_async.errors import (
    ConnectionLostError,
    GatewayError,
    MismatchedReplyError,
    MismatchedWriteError,
    OutcomeUnknownError,
)
from gateway_async.observe import Event, LookedUp

__all__ = ["Settling"]

T = TypeVar("T")

_SETTLE_SECONDS: Final = 2.0
"""In which what a gateway got shows up, if it is in good health."""


class Settling:
    """Settles writes.

    Args:
        read: carries out a lookup, with attempts of its own.
        timeout: seconds for each read of a lookup.
        max_attempts: how often a read is tried at most.
        refuse: raises `NotSentError` when the client is closed, or belongs to another event loop.
        books: told of what became of calls that had ended.
        tell: told of what was found.
    """

    def __init__(
        self,
        read: Callable[[Delivery[Any]], Awaitable[Any]],
        *,
        timeout: float,
        max_attempts: int,
        refuse: Callable[[Call[Any]], None],
        books: Books,
        tell: Callable[[Event], None],
    ) -> None:
        self._read = read
        self._timeout = timeout
        self._max_attempts = max_attempts
        self._refuse = refuse
        self._books = books
        self._tell = tell

    async def settle(self, delivery: Delivery[T], error: GatewayError, otherwise: Verdict) -> T:
        """What became of a write that ended with `error`; `otherwise` is what follows when there is nothing to find.

        Raises:
            NotDoneError: there is nothing, and it may be sent again.
            OutcomeUnknownError: it cannot be told.
            GatewayError: `error`, where it has the last word.
        """
        call = delivery.call
        found = await self._looked_up(delivery, error, _settle_seconds(delivery, otherwise))
        if found is not NOT_DONE:
            if call.kind is Kind.NAMED and not delivery.may_have_left:
                raise error  # a clear no, and no earlier try: the record had this id before
            return found
        match otherwise:
            case Verdict.AGAIN:
                raise NotDoneError(error)
            case Verdict.STOP:
                raise error
            case _:
                raise self.unknown(delivery, error) from error

    async def settle_cancelled(self, delivery: Delivery[Any]) -> None:
        """Learn what became of a cancelled write; whoever cancelled it learns it from the observers."""
        cancelled = ConnectionLostError("cancelled", call=str(delivery.call))
        delivery.doubt = self.unknown(delivery, cancelled)
        with anyio.move_on_after(LOOKUP_SECONDS, shield=True):
            try:
                found = await self._looked_up(delivery, cancelled, _SETTLE_SECONDS, cancelled=True)
            except GatewayError:
                return  # told as "unknown"
            if found is not NOT_DONE:
                delivery.doubt = None
                await self._books.settle(delivery.intent_id, "done", found)

    def last_word(
        self, delivery: Delivery[Any], error: GatewayError, failed: GatewayError | None = None
    ) -> GatewayError:
        """The last attempt's error, if no attempt can have done anything; else nobody knows."""
        doubtful = delivery.may_have_left and not delivery.call.kind.is_read
        return self.unknown(delivery, error, failed) if doubtful else error

    def unknown(
        self, delivery: Delivery[Any], error: GatewayError, failed: GatewayError | None = None
    ) -> OutcomeUnknownError:
        """The error that says so, and can ask again; `failed` is what the lookup ended with, if it was made."""
        call = delivery.call
        facts: dict[str, Any] = {
            "call": str(call),
            "api_id": call.api_id,
            "sent": call.sent,
            "reached": delivery.reached or fate_of(error).reached,
            "resolve": partial(self._resolved, delivery, error),
        }
        if isinstance(error, MismatchedReplyError):
            return MismatchedWriteError(error.differences, **facts)
        reason = f"{error}; then its lookup failed: {failed}" if failed else str(error)
        return OutcomeUnknownError(reason, **facts)

    async def _looked_up(
        self, delivery: Delivery[T], error: GatewayError, settle: float, *, cancelled: bool = False
    ) -> T | NotDone:
        """The result of a write as a lookup finds it; `NOT_DONE` only from one that began after `settle` seconds."""
        call, outcome = delivery.call, "unknown"
        delivery.on_lookup()
        try:
            if call.lookup is None:
                raise self.unknown(delivery, error) from error
            found = await self._found(call.lookup, settle)
            outcome = "not there" if found is NOT_DONE else "found"
        except OutcomeUnknownError:
            raise
        except GatewayError as failed:
            raise self.last_word(delivery, error, failed) from failed
        else:
            return found
        finally:
            self._tell(LookedUp(call=str(call), api_id=call.api_id, outcome=outcome, cancelled=cancelled))

    async def _found(self, lookup: Call[T | NotDone], settle: float) -> T | NotDone:
        until = anyio.current_time() + settle
        wait = 0.05
        while True:
            is_last = anyio.current_time() >= until  # an answer is as old as its question
            found = await self._asked(lookup, settle + self._timeout)
            left = max(until - anyio.current_time(), 0.0)
            if found is not NOT_DONE and lookup.then is not None:
                return await self._found(lookup.then(found), left)
            if found is not NOT_DONE or is_last:
                return found
            await anyio.sleep(min(wait, left))
            wait = min(wait * 2, 1.0)

    async def _asked(self, lookup: Call[T | NotDone], seconds: float) -> T | NotDone:
        found: T | NotDone = await self._read(Delivery(lookup.as_lookup(), seconds, self._max_attempts))
        return found

    async def _resolved(self, delivery: Delivery[T], error: GatewayError) -> T | None:
        """The result of a write of which nobody knew, or None when it is certain that it was not carried out.

        That is certain once it is still not there after the time in which a gateway may carry out what it got.
        """
        self._refuse_resolving(delivery, error)
        left = max(delivery.may_arrive_until - anyio.current_time(), 0.0)
        patience = min(left, MAY_ARRIVE_SECONDS)
        with anyio.move_on_after(patience + self._timeout):
            found = await self._looked_up(delivery, error, patience)
            if found is not NOT_DONE:
                await self._books.settle(delivery.intent_id, "done", found)
                return found
            if patience == left:
                await self._books.settle(delivery.intent_id, "not_made")
                return None
        raise self.unknown(delivery, error)

    def _refuse_resolving(self, delivery: Delivery[Any], error: GatewayError) -> None:
        call = delivery.call
        if call.lookup is not None and call.lookup.writes:
            raise self.unknown(delivery, error)
        try:
            self._refuse(call)
        except GatewayError as refusal:
            raise self.unknown(delivery, error, refusal) from None


def _settle_seconds(delivery: Delivery[Any], otherwise: Verdict) -> float:
    """How long "not there" may still become "there"."""
    if not delivery.may_have_left:
        return 0.0
    at_terminal = delivery.call.kind is Kind.TERMINAL and otherwise is Verdict.UNKNOWN
    return LOOKUP_SECONDS if at_terminal else _SETTLE_SECONDS
