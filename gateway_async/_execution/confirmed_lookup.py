"""Look up a write: read its record, confirm that a record is missing, and accept or reject a found one.

`OutcomeResolver` (in the same call) and `CrashRecovery` (after a crash) repeat these lookups.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

from gateway_async._wire.call import Call, LookupResult, LookupStatus
from gateway_async.errors import MismatchedWriteError
from gateway_async.observe import Event, RecordDiffers

__all__ = ["accept_record", "look_up"]

T = TypeVar("T")


async def look_up(
    read: Callable[[Call[Any]], Awaitable[LookupResult[T]]], lookup: Call[LookupResult[T]], *, conclusive: bool
) -> LookupResult[T]:
    """Read the outcome of a write, and its confirmation if needed.

    A 404 alone does not prove that a record does not exist:

    - To send a write again under the same id, a 404 is sufficient.
    - To report that a write was not executed (`conclusive`), a list must confirm the 404.
    - To report that a deletion is done, a list must confirm the 404. If the list contradicts it, the result is `GONE`.
    """
    found = await read(lookup)
    needs_confirmation = found.status is LookupStatus.GONE or (found.status is LookupStatus.NO_RECORD and conclusive)
    if lookup.confirmation is None or not needs_confirmation:
        return found
    confirmed = await read(lookup.confirmation())
    is_contradicted = found.status is LookupStatus.GONE and not confirmed.shows_effect
    return found if is_contradicted else confirmed


def accept_record(
    found: LookupResult[T], *, made_up_id: bool, emit: Callable[[Event], None], facts: Mapping[str, Any]
) -> T:
    """Return the record of an executed write.

    A record that differs from what was sent is accepted only if the SDK generated its id: no other request has the id.

    Args:
        found: the result of a lookup that found a record.
        made_up_id: whether the SDK generated the integrator id.
        emit: receives the event of a differing record.
        facts: the arguments of the error, such as `call` and `api_id`.

    Raises:
        MismatchedWriteError: the record differs. The caller chose its id, so another request may have created it.
    """
    record = cast("T", found.record)
    if found.status is LookupStatus.DIFFERENT_RECORD:
        if not made_up_id:
            raise MismatchedWriteError(found.differences, record=cast("Any", record), **facts)
        emit(RecordDiffers(call=facts["call"], api_id=facts["api_id"], differences=found.differences))
    return record
