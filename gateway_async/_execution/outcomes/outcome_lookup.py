"""`OutcomeLookup`: read the record of a write; if it is missing, confirm that by a list.

`OutcomeResolver` (in the same call) and `CrashRecovery` (after a crash) use it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

import anyio

from gateway_async._backoff import exponential_backoffs
from gateway_async._wire.call import Lookup, LookupResult, LookupStatus
from gateway_async.errors import MalformedReplyError, MismatchedWriteError
from gateway_async.observe import Event, RecordDiffers

__all__ = ["OutcomeLookup", "accept_record", "contradiction"]

T = TypeVar("T")

Read = Callable[[Lookup[Any], float], Awaitable[Any]]
"""Executes a lookup within a number of seconds."""


class OutcomeLookup:
    """Looks up writes.

    Args:
        read: executes a read, with attempts of its own.
        timeout: seconds for each read.
    """

    def __init__(self, read: Read, timeout: float) -> None:
        self._read = read
        self._timeout = timeout

    async def find(self, lookup: Lookup[Any], grace: float, *, conclusive: bool) -> LookupResult[Any]:
        """Repeat a lookup for `grace` seconds, or until it finds the record.

        Raises:
            GatewayError: a read failed.
        """
        until = anyio.current_time() + grace
        pauses = exponential_backoffs(first=0.05, longest=1.0)
        while True:
            is_last = anyio.current_time() >= until  # a response shows the state at the time of its request
            found = await self.find_once(lookup, grace + self._timeout, conclusive=conclusive and is_last)
            left = max(until - anyio.current_time(), 0.0)
            match found.status:
                case LookupStatus.EXECUTED if lookup.follow_up is not None:
                    return await self.find(lookup.follow_up(found.record), left, conclusive=conclusive)
                case LookupStatus.EXECUTED | LookupStatus.DIFFERENT_RECORD:
                    return found
                case LookupStatus.GONE if is_last:
                    raise contradiction(str(lookup))
                case LookupStatus.UNPROVEN | LookupStatus.NO_RECORD if is_last:
                    return found
                case _ if is_last:
                    return LookupResult(LookupStatus.NOT_EXECUTED)
            await anyio.sleep(min(next(pauses), left))

    async def find_once(self, lookup: Lookup[T], seconds: float | None = None, *, conclusive: bool) -> LookupResult[T]:
        """Read the outcome of a write, and its confirmation if needed.

        A 404 alone does not prove that a record does not exist:

        - To send a write again under the same id, a 404 is sufficient.
        - To report that a write was not executed (`conclusive`), a list must confirm the 404.
        - To report that a deletion is done, a list must confirm the 404. If the list contradicts it, the result is
          `GONE`.

        Raises:
            GatewayError: a read failed.
        """
        seconds = self._timeout if seconds is None else seconds
        found: LookupResult[T] = await self._read(lookup, seconds)
        needs_confirmation = found.status is LookupStatus.GONE or (
            found.status is LookupStatus.NO_RECORD and conclusive
        )
        if lookup.confirmation is None or not needs_confirmation:
            return found
        confirmed: LookupResult[T] = await self._read(lookup.confirmation(), seconds)
        is_contradicted = found.status is LookupStatus.GONE and not confirmed.shows_effect
        return found if is_contradicted else confirmed


def contradiction(call: str) -> MalformedReplyError:
    """Make the error of a lookup whose result is `GONE`."""
    return MalformedReplyError("$", "the list has the record, and a read by its id does not find it", call=call)


def accept_record(
    found: LookupResult[T],
    *,
    made_up_id: bool,
    emit: Callable[[Event], None],
    event_facts: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> T:
    """Return the record of an executed write.

    A record that differs from what was sent is accepted only if the SDK generated its id: no other request has the id.

    Args:
        found: the result of a lookup that found a record.
        made_up_id: whether the SDK generated the integrator id.
        emit: receives the event of a differing record.
        event_facts: the arguments that all events of the call have.
        facts: the arguments of the error, such as `call` and `api_id`.

    Raises:
        MismatchedWriteError: the record differs. The caller chose its id, so another request may have created it.
    """
    record = cast("T", found.record)
    if found.status is LookupStatus.DIFFERENT_RECORD:
        if not made_up_id:
            raise MismatchedWriteError(found.differences, record=cast("Any", record), **facts)
        emit(RecordDiffers(**event_facts, differences=found.differences))
    return record
