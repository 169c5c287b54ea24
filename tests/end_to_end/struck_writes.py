"""Writes for faults to strike: what each sends, and what the records show before and after it."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, NamedTuple

from gateway_async import AsyncGateway
from gateway_async.sandbox import Sandbox

EXECUTED = (
    *("reset_after_commit", "close_after_commit", "error_after_commit", "cut_body", "duplicate_response"),
    *("wrong_response", "wrong_length", "delay", "garbage", "html", "empty"),
)
"""Faults of the responses to requests that are executed; these responses end."""
NOT_EXECUTED = ("reset_before_commit", "error_before_commit", "rate_limit", "unavailable")
"""Faults of requests that arrive and are not executed."""
ENDLESS = ("silence", "drip")
"""Faults of the responses to requests that are executed; these responses do not end before the call does."""


class Operation(NamedTuple):
    """A write.

    Attributes:
        request: the request that a fault strikes.
        write: sends it, and returns the record in the response.
        read: reads the record; None if there is none.
        after: the fields that both records show; their ids are always compared.
        before: what a write that cannot be repeated leaves if it was not executed: fields, or no record.
        is_repeated: whether it is sent again if it was not executed; otherwise its outcome stays unknown.
        faults: those that it can meet. A call at a terminal has too much time for the endless ones.
    """

    request: str
    write: Callable[[], Awaitable[Any]]
    read: Callable[[], Awaitable[Any]]
    after: Mapping[str, Any]
    before: Mapping[str, Any] | None = None
    is_repeated: bool = True
    faults: Collection[str] = (*EXECUTED, *NOT_EXECUTED, *ENDLESS)


async def only(pages: Any, *others: str) -> Any:
    """Return the only record of a list, besides others; None if there is none."""
    found = [each async for each in pages if each.id not in others]
    assert len(found) < 2, "it exists twice"
    return found[0] if found else None


Make = Callable[[AsyncGateway, Sandbox], Awaitable[Operation]]
"""Prepares what a write needs."""
