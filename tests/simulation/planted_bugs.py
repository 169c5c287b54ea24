"""Five bugs to plant into the real code. A simulation that does not find them checks too little."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, Final
from unittest import mock

from gateway_async._execution.attempts import NotExecutedError
from gateway_async._execution.call_state import CallState
from gateway_async._execution.executor import CallExecutor
from gateway_async._execution.outcomes.outcome_resolver import OutcomeResolver
from gateway_async._execution.terminals.lease_holder import LeaseHolder
from gateway_async._storage.sqlite import FileFormat
from gateway_async._wire import reply
from gateway_async._wire.call import Call, Lookup, LookupResult, LookupStatus
from gateway_async._wire.reply import Reply
from gateway_async._wire.retry_policy import NextStep
from gateway_async.errors import GatewayError

__all__ = ["PLANTED_BUGS"]


@contextmanager
def _retry_without_lookup() -> Iterator[None]:
    """Send a write again after a lost response, without a lookup."""

    async def resolve(_resolver: OutcomeResolver, _state: CallState[Any], error: GatewayError, _step: NextStep) -> None:
        raise NotExecutedError(error)

    with mock.patch.object(OutcomeResolver, "resolve", resolve):
        yield


@contextmanager
def _lookup_that_believes_a_proxy() -> Iterator[None]:
    """Take every 404 as the gateway's own word that a record does not exist."""
    read_reply = reply._result

    def believe(call: Call[Any], received: Reply) -> Any:
        if isinstance(call, Lookup) and received.status == 404:
            return LookupResult(LookupStatus.NOT_EXECUTED)
        return read_reply(call, received)

    with mock.patch.object(reply, "_result", believe):
        yield


@contextmanager
def _shortened_doubt() -> Iterator[None]:
    """Assume that a request arrives within a second, whatever the option says."""
    initialize = CallExecutor.__init__

    @wraps(initialize)
    def shorten(executor: CallExecutor, *args: Any, **options: Any) -> None:
        initialize(executor, *args, **{**options, "in_doubt_seconds": 1.0})

    with mock.patch.object(CallExecutor, "__init__", shorten):
        yield


@contextmanager
def _lost_lease() -> Iterator[None]:
    """Use a terminal without holding its lease."""

    async def acquire_nothing(_holder: LeaseHolder, _call: Call[Any], _seconds: float | None) -> None:
        """Report success."""

    with mock.patch.object(LeaseHolder, "_acquire_or_renew", acquire_nothing):
        yield


@contextmanager
def _unsynced_intent() -> Iterator[None]:
    """Commit intents without syncing them to the disk."""
    initialize = FileFormat.initialize

    @wraps(initialize)
    def forget_to_sync(file_format: FileFormat, connection: sqlite3.Connection, *args: Any, **options: Any) -> None:
        initialize(file_format, connection, *args, **options)
        connection.execute("PRAGMA synchronous = OFF")

    with mock.patch.object(FileFormat, "initialize", forget_to_sync):
        yield


PLANTED_BUGS: Final[Mapping[str, Callable[[], AbstractContextManager[None]]]] = {
    "retry-without-lookup": _retry_without_lookup,
    "lookup-that-believes-a-proxy": _lookup_that_believes_a_proxy,
    "shortened-doubt": _shortened_doubt,
    "lost-lease": _lost_lease,
    "unsynced-intent": _unsynced_intent,
}
"""The bugs by name. Each is planted while its context is entered."""
